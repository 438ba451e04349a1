"""Event time survives a crash at any step: the same timers fire, at the same watermarks, each once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from conformance.test_conformance_event_time import RESULT, PowerCut, Punctuation, RoundsSource
from faults.crash_schedules import CrashAtStep
from penstock.common import Configuration, WatermarkStrategy, fail_points
from penstock.common.fail_points import SimulatedCrash
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment

MAX = (1 << 63) - 1


def run(directory: Path, where: str) -> None:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    source = RoundsSource({"a": [[1, 10, 2, 20], [30], [], [40, 41]], "b": [[3, 10], [20, 25], [50, 60], []]})
    strategy = WatermarkStrategy.for_generator(Punctuation)
    if where == "source":
        stream = env.from_source(source, strategy, "numbers")
    else:
        stream = env.from_source(source, None, "numbers").assign_timestamps_and_watermarks(strategy)
    directory.mkdir(exist_ok=True)
    (directory / "power is back").touch()
    stream.key_by(lambda n: 0).process(PowerCut(directory), RESULT).sink_to(FileSink(str(directory / "out"), "json"))
    env.execute_async().wait(60)


def fired(directory: Path) -> Counter[tuple[int, int, int]]:
    lines = [line for path in (directory / "out").glob("*.json") for line in path.read_text().splitlines()]
    return Counter((row["t"], row["watermark"], row["count"]) for row in map(json.loads, lines))


@pytest.mark.parametrize("where", ["source", "operator"])
def test_a_crash_at_every_single_step_changes_nothing(tmp_path: Path, where: str) -> None:
    counter = CrashAtStep(10**9)
    fail_points.arm(counter)
    run(tmp_path / "whole", where)
    fail_points.arm(None)
    expected = fired(tmp_path / "whole")
    assert set(expected.values()) == {1}
    assert len({watermark for _, watermark, _ in expected} - {MAX}) >= 2, "event time rises in several steps"
    for step in range(1, len(counter.reached) + 1):
        directory = tmp_path / f"step-{step}"
        for hook in (CrashAtStep(step), None):
            fail_points.arm(hook)
            try:
                run(directory, where)
            except SimulatedCrash:
                assert hook is not None
            finally:
                fail_points.arm(None)
        assert fired(directory) == expected, f"crash at step {step}, {counter.reached[step - 1]}"
