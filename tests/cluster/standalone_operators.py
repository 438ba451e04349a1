"""The programs of the conformance tests as one job: `standalone_operators.py DIRECTORY KEY=VALUE...`.

Every operator of `conformance.operators`, windows among them, and joins and patterns.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import cloudpickle

from conformance import (
    operator_inputs,
    operators,
    test_conformance_cep,
    test_conformance_joins,
    window_operators,
)
from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.connectors.files import FileSink
from penstock.datastream import DataStream, StreamExecutionEnvironment

for module in (operator_inputs, operators, window_operators, test_conformance_cep, test_conformance_joins):
    cloudpickle.register_pickle_by_value(module)  # executors have them under no name

PATTERNS = ["strict", "relaxed", "absent"]


def programs(env: StreamExecutionEnvironment, power_is_back: Path) -> dict[str, DataStream]:
    """Streams by what they are the results of."""
    joins, patterns = test_conformance_joins, test_conformance_cep
    left, right = (_stamped(env, records, joins.RECORD, joins.Time()) for records in (joins.LEFT, joins.RIGHT))
    events = _stamped(env, patterns.EVENTS, patterns.EVENT, patterns.Time())
    return {
        **{name: build(env) for name, build in operators.OPERATORS.items()},
        "joins": joins.joins(left, right, power_is_back),
        "patterns": patterns.searched(events, PATTERNS, power_is_back),
    }


def run_all(directory: Path, *options: str) -> None:
    """Runs all of them to their ends, over some epochs."""
    directory.mkdir(exist_ok=True)
    (directory / "power is back").touch()
    configuration = Configuration()
    for option in options:
        configuration.set_string(*option.split("=", 1))
    configuration.set_string("execution.runtime-mode", "STREAMING")
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    configuration.set_string("execution.epoch.max-records", str(24 * len(operators.OPERATORS)))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    labelled = [
        stream.map(operators.Labelled(name, directory, at_once=False), Types.STRING())
        for name, stream in programs(env, directory / "power is back").items()
    ]
    labelled[0].union(*labelled[1:]).sink_to(FileSink(str(directory / "out"), "text"))
    env.execute("all programs")


def published(directory: Path) -> Counter[str]:
    """What came out, and how often."""
    return Counter(line for path in (directory / "out").glob("*.txt") for line in path.read_text().splitlines())


def _stamped(env: StreamExecutionEnvironment, records: Any, record_type: Any, assigner: Any) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(40).with_timestamp_assigner(assigner)
    return env.from_collection(records, record_type).assign_timestamps_and_watermarks(strategy)


if __name__ == "__main__":
    run_all(Path(sys.argv[1]), *sys.argv[2:])
