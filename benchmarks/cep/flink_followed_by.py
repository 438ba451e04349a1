"""`followed_by` by Flink SQL's MATCH_RECOGNIZE, in the JVM."""

from __future__ import annotations

from cep.flink_match_recognize import FOLLOWED_BY, run
from common.contender import parse_arguments

if __name__ == "__main__":
    run(FOLLOWED_BY, parse_arguments())
