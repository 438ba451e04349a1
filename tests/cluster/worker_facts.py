"""A module of the user's, beside the program and nowhere installed: what a worker is made of."""

from __future__ import annotations

import sys

import penstock


def facts(number: int) -> str:
    return f"{number}|{sys.prefix}|{penstock.__file__}"
