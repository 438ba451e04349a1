"""`strictly_next` by Flink SQL's MATCH_RECOGNIZE, in the JVM."""

from __future__ import annotations

from cep.flink_match_recognize import STRICTLY_NEXT, run
from common.contender import parse_arguments

if __name__ == "__main__":
    run(STRICTLY_NEXT, parse_arguments())
