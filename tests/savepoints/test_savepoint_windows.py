"""What `check_upgrade` says of windows and other state, and what then becomes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, TypeInformation, Types, WatermarkStrategy
from penstock.common.errors import JobExecutionException
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, ProcessWindowFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.engine.epochs.upgrade import Outcome
from savepoints.ledger_job import AtEpoch, published

PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])


def pairs(directory: Path, rows: list[tuple[int, int]], **options: str) -> Any:
    settings = {
        "execution.engine": "local",
        "execution.checkpointing.dir": str(directory / "checkpoint"),
        "execution.runtime-mode": "STREAMING",
        "execution.epoch.max-records": "20",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "1",
    }
    configuration = Configuration()
    for key, value in (settings | options).items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    return env, env.from_collection(rows, PAIR).uid("pairs")


def test_a_window_of_one_key_is_refused_as_foretold(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The first program has left windows that begin at 3 to one key; those of others, of the second, begin at 0."""
    rows = [(0 if number < 100 else number, number) for number in range(400)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("1 min").with_timestamp_assigner("f1")

    def summing(offset: int, disabled: str) -> Any:
        env, stream = pairs(tmp_path, rows, **{"optimizer.disabled-rules": disabled})
        windows = stream.assign_timestamps_and_watermarks(strategy).uid("timed").key_by("f0")
        sums = windows.window(TumblingEventTimeWindows.of(10, offset)).sum("f1").uid("sums").map(str, Types.STRING())
        sums.sink_to(FileSink(str(tmp_path / "out"), "text")).uid("sink")
        return env

    for offset in (3, 0):
        AtEpoch(4).run(summing(offset, "reduce-in-columns").execute_async, lambda client: client.cancel())
    env = summing(0, "")
    (refused,) = env.check_upgrade(str(tmp_path / "checkpoint")).of(Outcome.REFUSED)
    assert "which is none of TumblingEventTimeWindows(10, 0)" in refused.reason
    with pytest.raises(JobExecutionException, match="is none of"):
        env.execute()
    assert "goes on from there" not in capfd.readouterr().err, "it would be refused again"


class OnlyInTheJob(ProcessWindowFunction[Any, Any, Any, Any]):
    """Needs something that is not there where an upgrade is checked."""

    def __init__(self, fails_in: str) -> None:
        self.fails_in = fails_in

    def open(self, runtime_context: RuntimeContext) -> None:
        self._need("open")

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[str]:
        yield str(key)

    def clear(self, context: Any) -> None:
        self._need("clear")

    def _need(self, method: str) -> None:
        if method == self.fails_in:
            raise ConnectionError("no such host")


@pytest.mark.parametrize("fails_in", ["open", "clear"])
def test_what_open_windows_become_is_not_known_where_functions_fail(fails_in: str, tmp_path: Path) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("5 ms").with_timestamp_assigner("f1")

    def described(lateness: int, fails_in: str) -> Any:
        env, stream = pairs(tmp_path, [(number % 4, number) for number in range(200)])
        keyed = stream.assign_timestamps_and_watermarks(strategy).uid("timed").key_by("f0")
        windows = keyed.window(TumblingEventTimeWindows.of(10)).allowed_lateness(lateness)
        described = windows.process(OnlyInTheJob(fails_in), Types.STRING()).uid("windows")
        described.sink_to(FileSink(str(tmp_path / "out"), "text")).uid("sink")
        return env

    AtEpoch(4).run(described(50, "").execute_async, lambda client: client.cancel())
    report = described(0, fails_in).check_upgrade(str(tmp_path / "checkpoint"))
    (windows,) = [item for item in report.items if item.state == "open windows"]
    assert windows.reason.startswith("not known: ")
    assert "no such host" in windows.reason


class Remembered(KeyedProcessFunction):
    def __init__(self, value_type: TypeInformation, *, keeps: bool) -> None:
        self.value_type = value_type
        self.keeps = keeps

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("last", self.value_type))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        self.state.update(value[1] if self.value_type == Types.LONG() else str(value[1]))
        if not self.keeps:
            self.state.clear()
        yield str(value[1])


@pytest.mark.parametrize("keeps", [True, False])
def test_state_of_another_type_is_refused_where_there_is_some(
    keeps: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = [(number % 3, number) for number in range(200)]

    def remembering(value_type: TypeInformation) -> Any:
        env, stream = pairs(tmp_path, rows)
        function = Remembered(value_type, keeps=keeps)
        last = stream.key_by("f0").process(function, Types.STRING()).uid("remembered")
        last.sink_to(FileSink(str(tmp_path / "out"), "text")).uid("sink")
        return env

    AtEpoch(4).run(remembering(Types.LONG()).execute_async, lambda client: client.cancel())
    env = remembering(Types.STRING())
    assert env.check_upgrade(str(tmp_path / "checkpoint")).is_possible is not keeps
    if keeps:
        with pytest.raises(JobExecutionException, match="does not fit the program"):
            env.execute()
        assert "goes on from there" not in capfd.readouterr().err, "it would be refused again"
    else:
        env.execute()
        assert published(tmp_path / "out").total() == len(rows)
