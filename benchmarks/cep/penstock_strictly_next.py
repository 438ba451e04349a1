"""`strictly_next` in Penstock."""

from __future__ import annotations

from cep.penstock_patterns import run, strictly_next
from common.contender import parse_arguments

if __name__ == "__main__":
    run(strictly_next(), parse_arguments())
