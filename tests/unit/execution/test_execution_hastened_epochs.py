"""A savepoint of a job that rests between two epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import Configuration, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource


@pytest.mark.parametrize(
    "option", ["execution.checkpointing.interval", "execution.checkpointing.min-pause", "execution.target-latency"]
)
def test_a_savepoint_does_not_wait_for_the_time_between_two_epochs(tmp_path: Path, option: str) -> None:
    configuration = Configuration().set_string(option, "1 h").set_string("execution.engine", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_source(DataGeneratorSource(lambda n: n, rate_per_second=100, type_info=Types.LONG())).add_sink(
        lambda _: None
    )
    client = env.execute_async("rests")
    try:
        savepoints = [client.trigger_savepoint(str(tmp_path)).result(20) for _ in range(3)]
        last = client.stop_with_savepoint(False, str(tmp_path)).result(20)
    finally:
        client.cancel().result(20)
    assert len({*savepoints, last}) == 4
