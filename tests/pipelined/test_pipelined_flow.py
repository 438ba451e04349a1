"""Programs in pipelined mode give what they give in epochs: the same tasks, in one process, with mixed-up channels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.common.errors import JobExecutionException
from penstock.common.time import Time
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.functions import (
    BroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.execution import engines
from penstock.execution.job_client import JobClient
from penstock.testing.memory_sink import MemorySink
from pipelined.list_source import PAIRS, ListSource, pairs, timed

STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness("1 s")


@pytest.fixture(autouse=True)
def _tasks_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engines._ENGINES, "pipelined", ("pipelined.local_pipelined", "LocalPipelinedEngine"))


def environment(latency: str, **options: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    if latency == "pipelined":
        configuration.set_string("execution.latency", "pipelined")
        configuration.set_string("execution.pipelined.epoch", "60 ms")
    else:
        configuration.set_string("execution.engine", "local")
    for key, value in {"pipeline.auto-watermark-interval": "10 ms", "restart-strategy.type": "none", **options}.items():
        configuration.set_string(key.replace("__", "."), value)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def two_splits(per_epoch: int = 5) -> ListSource:
    return ListSource(
        timed(pairs(3, 12)), timed(pairs(3, 12, first=100), step=700), record_type=PAIRS, per_epoch=per_epoch
    )


class Running(KeyedProcessFunction):
    """The number of each record among those of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield value[0], count


@pytest.mark.parametrize("latency", ["epochs", "pipelined"])
def test_state_goes_from_epoch_to_epoch(latency: str) -> None:
    env = environment(latency)
    stream = env.from_source(two_splits(), None, "pairs").key_by(lambda pair: pair[0]).process(Running(), PAIRS)
    assert Counter(stream.execute_and_collect()) == Counter(
        (f"key-{key}", count) for key in range(3) for count in range(1, 9)
    )


@pytest.mark.parametrize("latency", ["epochs", "pipelined"])
def test_windows_close_when_the_slowest_split_has_passed(latency: str) -> None:
    env = environment(latency)
    late = OutputTag("late", PAIRS)
    windows = (
        env.from_source(two_splits(), STRATEGY, "pairs")
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(3)))
        .side_output_late_data(late)
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )
    stream = windows.map(lambda pair: f"sum {pair}", Types.STRING()).union(
        windows.get_side_output(late).map(lambda pair: f"late {pair}", Types.STRING())
    )
    expected: Counter[tuple[str, int]] = Counter()
    for split in two_splits().splits.values():
        for (key, value), stamp in split:
            expected[key, stamp // 3000] += value
    assert Counter(stream.execute_and_collect()) == Counter(
        f"sum {(key, total)}" for (key, _), total in expected.items()
    )


class Reminder(KeyedProcessFunction):
    """Says something a moment after a key's first record."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 15)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key()


def test_processing_time_passes_within_an_epoch() -> None:
    env = environment("pipelined", execution__pipelined__epoch="300 ms")
    # The second split goes on for an epoch: there is a time after the timers, and before the end of all input.
    source = ListSource(timed([("a", 1)]), timed(pairs(1, 8)), record_type=PAIRS, per_epoch=4)
    stream = env.from_source(source, None, "pairs").key_by(lambda pair: pair[0]).process(Reminder(), Types.STRING())
    assert set(stream.execute_and_collect()) == {"a", "key-0"}


class Sorting(ProcessFunction):
    def __init__(self, tag: OutputTag) -> None:
        self._tag = tag

    def process_element(self, value, ctx):
        if value[1] % 2:
            yield self._tag, value
        else:
            yield value


class ByRule(BroadcastProcessFunction):
    """Records wait in the operator's broadcast state for nothing: what has no rule yet is told so."""

    def process_element(self, value, ctx):
        yield value[0], value[1]

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        yield "rule", value[1]


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def test_side_outputs_unions_and_broadcasts_flow() -> None:
    env = environment("pipelined")
    odd = OutputTag("odd", PAIRS)
    rules = ListSource(timed([("r", 7)]), record_type=PAIRS)
    even = env.from_source(two_splits(), None, "pairs").process(Sorting(odd), PAIRS)
    ruled = (
        even.union(even.get_side_output(odd))
        .connect(env.from_source(rules, None, "rules").broadcast(RULES))
        .process(ByRule(), PAIRS)
    )
    found = Counter(ruled.execute_and_collect())
    # Every subtask of the operator hears of the rule.
    assert found == Counter(pairs(3, 12)) + Counter(pairs(3, 12, first=100)) + Counter({("rule", 7): 2})


def test_a_failing_function_is_reported_with_its_record() -> None:
    env = environment("pipelined")
    stream = env.from_source(two_splits(), None, "pairs").key_by(lambda pair: pair[0]).map(lambda pair: 1 // pair[1])
    with pytest.raises(JobExecutionException, match=r"ZeroDivisionError(.|\n)*\('key-0', 0\)"):
        list(stream.execute_and_collect())


def test_a_job_goes_on_where_it_was_stopped_in_either_mode(tmp_path: Path) -> None:
    """The checkpoint is the same: a job changes its mode from one start to the next."""
    sink = MemorySink()

    def start(latency: str) -> JobClient:
        env = environment(latency, execution__checkpointing__dir=str(tmp_path / "checkpoint"))
        records = env.from_source(two_splits(per_epoch=2), None, "pairs").uid("pairs")
        records.key_by(lambda pair: pair[0]).process(Running()).uid("running").sink_to(sink).uid("sink")
        return env.execute_async("counts")

    for latency in ("pipelined", "epochs"):
        before, job = len(sink.epochs), start(latency)
        while len(sink.epochs) <= before:
            if job.has_ended(0.005):
                pytest.fail(f"the job ended before it was stopped: {job.wait()}")
        job.cancel().result()
    start("pipelined").wait(60)
    assert Counter(sink.records) == Counter((f"key-{key}", count) for key in range(3) for count in range(1, 9))
