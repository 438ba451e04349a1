"""A module of the user's, beside the program and nowhere installed: what a worker is made of."""

from __future__ import annotations

import sys

import penstock


def facts() -> str:
    return f"{sys.prefix}|{penstock.__file__}"
