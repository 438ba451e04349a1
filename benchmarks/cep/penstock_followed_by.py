"""`followed_by` in Penstock."""

from __future__ import annotations

from cep.penstock_patterns import followed_by, run
from common.contender import parse_arguments

if __name__ == "__main__":
    run(followed_by(), parse_arguments())
