"""All operators in one job, in epochs or pipelined. As a script: some of each kind on Spark, with a restart.

all_operators.py DIRECTORY
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Collection
from pathlib import Path

import pytest

from conformance.operators import OPERATORS, Labelled
from penstock.common import Configuration, JobExecutionException, Types
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.pipelined import executor
from pipelined.list_source import spread_collections
from pipelined.order_of_arrival import FactsOf

CANNOT_RUN = {"file source": "cannot be followed", "from_sequence": "cannot be followed"}
"""Programs that are refused, and a part of what is said of them."""
FOLLOWED = [operator for operator in OPERATORS if operator not in CANNOT_RUN]
ON_SPARK = [
    "process",
    "union",
    "async, unordered",
    "keyed process",
    "sum",
    "event-time timers",
    "two keyed operators",
    "connect, keyed process",
    "keyed broadcast process",
    "session windows",
    "reduce in windows",
    "aggregate windows of all records",
]


class LabelledAndClosed(Labelled):
    """Leaves a mark where it is closed."""

    def close(self) -> None:
        (self._directory / "closed").mkdir(exist_ok=True)
        (self._directory / "closed" / self._operator).touch()


def run_all(
    env: StreamExecutionEnvironment,
    directory: Path,
    operators: Collection[str] = FOLLOWED,
) -> None:
    """Fails once some results are published, until the file `power is back` is there."""
    labelled = [
        OPERATORS[operator](env)
        .flat_map(FactsOf(operator), Types.PICKLED_BYTE_ARRAY())
        .map(LabelledAndClosed(operator, directory, at_once=False), Types.STRING())
        for operator in operators
    ]
    labelled[0].union(*labelled[1:]).sink_to(FileSink(str(directory / "out"), "text"))
    env.execute("all operators")


def results(directory: Path) -> dict[str, Counter[str]]:
    """What each operator has given."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for path in (directory / "out").glob("*.txt"):
        for line in path.read_text().splitlines():
            operator, _, result = line.partition(": ")
            found[operator][result] += 1
    return found


def main() -> None:
    directory = Path(sys.argv[1])
    configuration = Configuration()
    for key, value in {
        "execution.latency": "pipelined",
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(directory / "checkpoint"),
        "execution.checkpointing.interval": "1 s",
        "pipeline.auto-watermark-interval": "1 h",
    }.items():
        configuration.set_string(key, value)
    with pytest.MonkeyPatch.context() as patch:
        spread_collections(patch)
        # A job of Spark's is replaced by another after an epoch or two.
        patch.setattr(executor, "_JOB_SECONDS", 1.5)
        for attempt in range(2):
            env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
            try:
                run_all(env, directory, ON_SPARK)
            except JobExecutionException as failure:
                if attempt or "power cut" not in str(failure):
                    raise
                (directory / "power is back").touch()


if __name__ == "__main__":
    main()
