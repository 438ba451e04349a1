"""Programs in pipelined mode give what they give in epochs: the same tasks, in one process, with mixed-up channels."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.common.errors import JobExecutionException
from penstock.common.time import Time
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.functions import BroadcastProcessFunction, KeyedProcessFunction, ProcessFunction, SinkFunction
from penstock.datastream.state import MapStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import VirtualClock
from pipelined import list_source
from pipelined.list_source import PAIRS, ListSource, pairs, timed, two_splits
from pipelined.local_pipelined import environment
from pipelined.running_count import Running

pytestmark = pytest.mark.usefixtures("virtual_time")

STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness("1 s")


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


class Timed(SinkFunction):
    """Notes what time it is when records come."""

    seen: ClassVar[set[int]] = set()

    def invoke(self, value, context):
        self.seen.add(context.current_processing_time())


def test_processing_time_passes_for_sinks_too() -> None:
    env = environment("pipelined", execution__pipelined__epoch="300 ms")
    source = ListSource(timed(pairs(1, 8)), record_type=PAIRS, per_epoch=8)
    env.from_source(source, None, "pairs").set_parallelism(1).add_sink(Timed()).set_parallelism(1)
    env.execute()
    assert len(Timed.seen) == 4, "two records come at a time"


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
    stream = (
        env.from_source(two_splits(), None, "pairs")
        .key_by(lambda pair: pair[0])
        .map(lambda pair: (pair[0], 1 // pair[1]))
    )
    with pytest.raises(JobExecutionException, match=r"ZeroDivisionError(.|\n)*\('key-0', 0\)"):
        list(stream.execute_and_collect())


@pytest.mark.parametrize("broken", ["create_live_reader", "follow", "position"])
def test_a_source_that_cannot_be_followed_after_all_is_named(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise OSError("no route to the shop")

    owner = list_source.ListSource if broken == "create_live_reader" else list_source._LiveReader
    monkeypatch.setattr(owner, broken, fails)
    env = environment("pipelined")
    env.from_source(two_splits(), None, "payments").add_sink(print)
    with pytest.raises(JobExecutionException, match=r"no route to the shop(.|\n)*operator: payments"):
        env.execute()


@pytest.mark.parametrize(
    "option", ["execution.checkpointing.min-pause", "execution.target-latency", "execution.epoch.interval"]
)
def test_records_do_not_stand_still_between_epochs(option: str) -> None:
    clock = VirtualClock()
    configuration = Configuration().set_string("execution.latency", "pipelined").set_string(option, "500 ms")
    configuration.set_string("execution.runtime-mode", "STREAMING").set_string("execution.pipelined.epoch", "60 ms")
    env = StreamExecutionEnvironment(configuration, clock=clock)
    env.from_source(two_splits(per_epoch=2), None, "pairs").add_sink(lambda pair: None)
    job = env.execute_async("pairs")
    job.wait(60)
    assert job.metrics()["epochs"] > 6
    assert clock.now() < 500
