"""What a pipelined job shows of itself: work without waits, sources that are pressed back, records that are left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from penstock.connectors.kafka import KafkaOffsetsInitializer
from penstock.connectors.kafka.live_enumerator import KafkaLiveEnumerator
from penstock.connectors.kafka.properties import understood
from penstock.connectors.source import EnumeratorContext, EpochBudget, SplitEnumerator
from penstock.datastream.functions import MapFunction
from penstock.engine.epochs import runner
from penstock.engine.epochs.stage_executor import StageResults, results_from
from penstock.engine.pipelined import live_source_subtask, live_stage_subtask
from penstock.engine.pipelined.live_header import END_OF_ROUND, live_header
from penstock.engine.stages import input_waits, operator_times, task_report
from penstock.engine.stages.envelope import Envelope
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.input_waits import InputWaits
from penstock.engine.stages.task_report import TaskReport, reported
from penstock.runtime.metrics import MetricGroup
from pipelined import list_source, local_pipelined
from pipelined.list_source import PAIRS, ListSource, pairs, timed
from pipelined.local_pipelined import LocalPipelinedExecutor, environment
from unit.connectors.test_connectors_kafka_enumerator import FakeBroker


class Clock:
    """In place of the module `time`: it stands still until somebody waits or works."""

    now = 0.0

    def perf_counter(self) -> float:
        return Clock.now

    monotonic = perf_counter

    def sleep(self, seconds: float) -> None:
        Clock.now += seconds


class SideBySide(LocalPipelinedExecutor):
    """One task in each stage; while a row is worked on, the stage that sent it waits."""

    def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
        live = live_header(header, tasks, self._live)
        self.make_room(live)
        reports = self._reports = []
        rows: Iterator[Any] = self._host.run_source(self._setup, live, 0, tasks[0], reports.append)
        for stage in self._job.stages[1:]:
            received = (row for row in rows if row is not END_OF_ROUND)
            rows = self._host.run_stage(self._setup, live, stage, 0, received, reports.append)
        return results_from(rows, reports)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, tasks_in_this_process: None) -> Clock:
    clock = Clock()
    for module in (live_source_subtask, live_stage_subtask, list_source, task_report, runner):
        monkeypatch.setattr(module, "time", clock)
    for module in (live_source_subtask, input_waits, operator_times):
        monkeypatch.setattr(module, "perf_counter", clock.perf_counter)
    monkeypatch.setattr(local_pipelined, "LocalPipelinedExecutor", SideBySide)
    return clock


class Slow(MapFunction):
    """A function that works for so long on each record."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def map(self, value: object) -> object:
        Clock.now += self._seconds
        return value


class KnowsItsLag(ListSource):
    """There is always more to read than an epoch brings."""

    def create_live_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        enumerator = super().create_live_enumerator(context)
        enumerator.lag = lambda: len(enumerator.live_splits())  # type: ignore[method-assign]
        return enumerator


def metrics(*, work: float, per_epoch: int) -> dict[str, Any]:
    """Of a job with 40 records, each with so many seconds of work behind an exchange, in epochs of two seconds."""
    env = environment("pipelined", execution__pipelined__epoch="2 s").set_parallelism(1)
    source = KnowsItsLag(timed(pairs(3, 40)), record_type=PAIRS, per_epoch=per_epoch, per_poll=1)
    stream = env.from_source(source, None, "pairs").uid("pairs").key_by(lambda pair: pair[0])
    stream.map(Slow(work), PAIRS).uid("slow").add_sink(lambda pair: None)
    client = env.execute_async()
    client.wait()
    return client.metrics()


def test_waits_for_records_are_no_work() -> None:
    shown = metrics(work=0.01, per_epoch=10)
    source, slow = shown["tasks"]["0/0"], shown["tasks"]["1/0"]
    assert source["busy_ms"] == 0
    assert source["waited_ms"] > 3_000, "records came at the beginning of each epoch"
    assert slow["busy_ms"] == shown["busy_ms"]["slow"] == pytest.approx(400)
    assert slow["waited_ms"] >= source["waited_ms"]


def test_a_source_is_pressed_back_by_slow_operators_and_not_by_its_own_waits() -> None:
    assert metrics(work=0.0, per_epoch=10)["back_pressure"]["pairs"] == 0
    assert metrics(work=0.1, per_epoch=40)["back_pressure"]["pairs"] > 0.9


def test_neither_the_start_of_a_task_nor_what_it_stages_is_work_on_rows() -> None:
    waits, reports = InputWaits(), list[TaskReport]()

    def received() -> Iterator[Envelope]:
        for _ in range(2):
            Clock.now += 3.0
            yield END_OF_ROUND

    def work() -> Iterator[Envelope]:
        Clock.now += 20.0
        for row in waits.before_each(received()):
            Clock.now += 0.5
            yield row
        Clock.now += 6.0
        yield END_OF_ROUND

    for _ in reported(work(), 1, 0, MetricGroup(), reports.append, waits):
        Clock.now += 10.0
    assert reports[0].busy_ms == pytest.approx(27_000)
    assert reports[0].on_rows_ms == pytest.approx(1_000)


def test_a_topics_lag_is_what_was_there_when_the_epoch_began() -> None:
    broker = FakeBroker(a=5, b=2)
    context = EnumeratorContext({}, 2, bounded=False)
    properties = understood({"bootstrap.servers": "b"})
    enumerator = KafkaLiveEnumerator(
        broker, broker.partitions, properties, KafkaOffsetsInitializer.earliest(), None, context
    )
    budget = EpochBudget(1000, 1 << 40, 2)
    enumerator.poll(0, budget)
    assert enumerator.lag() == 7
    enumerator.advanced("a-0", {"offset": 5, "records": 5, "bytes": 50}, False)
    broker.ends[("a", 0)] = 6
    enumerator.poll(0, budget)
    assert enumerator.lag() == 3
