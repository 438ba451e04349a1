"""Programs that the command runs in tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Command = Callable[..., Result]
ProgramFile = Callable[[str], Path]

SUMS = """
    import sys
    from penstock.datastream import StreamExecutionEnvironment

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    payments = [("a", 1), ("b", 2), ("a", int((sys.argv[1:] or ["3"])[0]))]
    env.from_collection(payments).uid("payments").key_by(0).sum(1).uid("sums").print().uid("printed")
    if __name__ == "__main__":
        env.execute("sums")
"""
