"""Event time: watermarks of splits, timers, idleness, restarts."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.one_job import LOCAL, SPARK, collect_each
from penstock.common import Configuration, Duration, JobExecutionException, Row, Types, WatermarkStrategy
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.watermark_strategy import (
    IngestionTimeAssigner,
    TimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)
from penstock.connectors.files import FileSink
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedCoProcessFunction, KeyedProcessFunction, ProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor

END = (1 << 63) - 1
Rounds = Mapping[str, Sequence[Sequence[int]]]


class RoundsSource(Source):
    """Numbers that are their own timestamps. An epoch reads the next round of every split; batch reads all at once.

    With `ends` False the source waits for ever after the last round.
    """

    def __init__(self, rounds: Rounds, *, ends: bool = True) -> None:
        self.rounds = rounds
        self.count = max(len(of_split) for of_split in rounds.values())
        self.ends = ends

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.ends else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def produced_type(self) -> Any:
        return Types.LONG()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return RoundsEnumerator(self, context)

    def create_reader(self) -> SplitReader:
        return RoundsReader(self)


class RoundsEnumerator(SplitEnumerator):
    def __init__(self, source: RoundsSource, context: EnumeratorContext) -> None:
        self.source = source
        self.context = context

    @property
    def round(self) -> int:
        return self.context.state.get("round", 0)

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        start = self.round
        if start == self.source.count:
            return []
        end = self.source.count if self.context.bounded else start + 1
        self.context.state["round"] = end
        finishes = self.source.ends and end == self.source.count
        reads = [SplitRead(split, start, end, finishes=finishes) for split in self.source.rounds]
        return [read for read in reads if finishes or any(self.source.rounds[read.split_id][start:end])]

    def live_splits(self) -> list[str]:
        return list(self.source.rounds) if not self.is_exhausted() else []

    def is_exhausted(self) -> bool:
        return self.source.ends and self.round == self.source.count


class RoundsReader(SplitReader):
    def __init__(self, source: RoundsSource) -> None:
        self.source = source

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        for numbers in self.source.rounds[read.split_id][read.start : read.end]:
            if numbers:
                yield Batch(codec_for(Types.LONG()), values=list(numbers), timestamps=list(numbers))
        self.position = read.end
        self.finished = read.finishes


@pytest.fixture(params=["STREAMING", "BATCH"], ids=["streaming", "batch"])
def local_mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def local_env(local_mode: str) -> StreamExecutionEnvironment:
    """For what other scenarios run on Spark already."""
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("execution.runtime-mode", local_mode)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


class Echo(KeyedProcessFunction):
    """A timer at the time of every record, and one that is deleted again; says when they fire."""

    def process_element(self, value: int, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_event_time_timer(ctx.timestamp())
        timers.register_event_time_timer(ctx.timestamp())
        timers.register_event_time_timer(ctx.timestamp() + 1)
        timers.delete_event_time_timer(ctx.timestamp() + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        assert ctx.timestamp() == timestamp
        yield timestamp, ctx.timer_service().current_watermark()


TWO_SPLITS = {"a": [[1, 5], [20], [40]], "b": [[3], [30], [41]]}


def test_timers_fire_when_the_slowest_split_has_passed_them(env: StreamExecutionEnvironment, mode: str) -> None:
    source = RoundsSource(TWO_SPLITS)
    stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
    fired = list(stream.key_by(lambda n: 0).process(Echo()).execute_and_collect())
    if mode == "STREAMING":
        assert fired == [(1, 2), (3, 19), (5, 19), (20, 29), (30, 40), (40, 40), (41, END)]
    else:
        assert fired == [(n, END) for n in (1, 3, 5, 20, 30, 40, 41)]


def test_a_split_without_records_holds_event_time_back(local_env: StreamExecutionEnvironment) -> None:
    source = RoundsSource({"a": [[1], [2], [3]], "empty": [[], [], []]})
    stream = local_env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
    fired = list(stream.key_by(lambda n: 0).process(Echo()).execute_and_collect())
    assert fired == [(1, END), (2, END), (3, END)]


class Onwards(Echo):
    """The second in a line: its records are what the first one's timers emitted."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 100)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp - 100, ctx.timer_service().current_watermark()


def test_timers_fire_through_the_whole_graph_in_one_epoch(env: StreamExecutionEnvironment, mode: str) -> None:
    source = RoundsSource({"a": [[1, 150, 300], [301], [302]]})
    stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
    line = stream.key_by(lambda n: 0).process(Echo()).key_by(lambda pair: pair[0]).process(Onwards())
    fired = sorted(line.key_by(lambda pair: 0).process(Onwards()).execute_and_collect())
    # The watermark of the first epoch takes its first record all the way; the others wait for the end.
    first = 299 if mode == "STREAMING" else END
    assert fired == [(101, first), (250, END), (400, END), (401, END), (402, END)]


class Punctuation(WatermarkGenerator):
    """A watermark after every second record that ends in 0: needs a memory that outlives an epoch."""

    def __init__(self) -> None:
        self.tens: list[int] = []

    def on_event(self, event: int, event_timestamp: int, output: WatermarkOutput) -> None:
        if event % 10 == 0:
            self.tens.append(event)
            if len(self.tens) == 2:
                output.emit_watermark(Watermark(event_timestamp))
                self.tens.clear()


def test_punctuated_watermarks_between_the_records_of_an_epoch(env: StreamExecutionEnvironment, mode: str) -> None:
    source = RoundsSource({"a": [[1, 10, 2, 20, 21, 30], [31, 40, 41], [42]]})
    stream = env.from_source(source, WatermarkStrategy.for_generator(Punctuation), "numbers")
    fired = list(stream.key_by(lambda n: 0).process(Echo()).execute_and_collect())
    if mode == "STREAMING":
        assert fired == [
            *((n, 20) for n in (1, 2, 10, 20)),
            *((n, 40) for n in (21, 30, 31, 40)),
            *((n, END) for n in (41, 42)),
        ]
    else:
        assert fired == [(n, END) for n in (1, 2, 10, 20, 21, 30, 31, 40, 41, 42)]


class FromTimeToTime(WatermarkGenerator):
    """Says nothing of a record; when asked, that the newest one less 2 has come."""

    def __init__(self) -> None:
        self.newest = 0

    def on_event(self, event: int, event_timestamp: int, output: WatermarkOutput) -> None:
        self.newest = max(self.newest, event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(self.newest - 2))


def test_a_generator_that_emits_when_it_is_asked(env: StreamExecutionEnvironment, mode: str) -> None:
    """At the end of each epoch."""
    strategy = WatermarkStrategy.for_generator(FromTimeToTime)
    source = RoundsSource({"a": [[1, 9, 10], [13, 11, 20], [22]]})
    stamped = env.set_parallelism(1).from_source(source, None).assign_timestamps_and_watermarks(strategy)
    streams = {"source": env.from_source(source, strategy, "numbers"), "operator": stamped}
    fired = collect_each(env, {where: each.key_by(lambda n: 0).process(Echo()) for where, each in streams.items()})
    if mode == "STREAMING":
        in_two_epochs = [(1, 8), *((n, 18) for n in (9, 10, 11, 13))]
        # The last epoch comes with the end; a source asks once more before it.
        expected = {"source": [*in_two_epochs, (20, 20), (22, END)], "operator": [*in_two_epochs, (20, END), (22, END)]}
    else:
        expected = {where: [(n, END) for n in (1, 9, 10, 11, 13, 20, 22)] for where in streams}
    assert fired == expected


class Stamped(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timestamp()


def test_ingestion_time_is_that_of_the_epoch(env: StreamExecutionEnvironment, mode: str) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(IngestionTimeAssigner())
    rounds = [[1, 2], [3], [4, 5]]
    source = RoundsSource({"a": rounds})
    stamped = env.set_parallelism(1).from_source(source, None).assign_timestamps_and_watermarks(strategy)
    streams = {"source": env.from_source(source, strategy, "numbers"), "operator": stamped}
    results = {where: each.process(Stamped()) for where, each in streams.items()}
    results |= {f"timers, {where}": each.key_by(lambda n: 0).process(Echo()) for where, each in streams.items()}
    before = int(time.time() * 1_000)
    found = collect_each(env, results)
    for where in streams:
        times = dict(found[where])
        assert list(times) == [1, 2, 3, 4, 5]
        assert before <= times[1] <= times[3] <= times[4] <= time.time() * 1_000
        assert (times[1], times[4]) == (times[2], times[5]), "a round is in one epoch"
        assert [timer for timer, _ in found[f"timers, {where}"]] == sorted(set(times.values()))


def test_aligned_sources_wait_for_the_slowest(env: StreamExecutionEnvironment, mode: str) -> None:
    """The fast one is read again when the slow one has come so far; nothing is lost or held back for ever."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment("group", 20)
    fast = env.from_source(RoundsSource({"f": [[100], [200], [300]]}), strategy, "fast")
    slow = env.from_source(RoundsSource({"s": [[1], [2], [3], [201], [202]]}), strategy, "slow")
    arrived = list(fast.union(slow).key_by(lambda n: 0).map(lambda n: n).execute_and_collect())
    assert sorted(arrived) == [1, 2, 3, 100, 200, 201, 202, 300]
    if mode == "STREAMING":
        assert arrived.index(3) < arrived.index(200), "at 100 it is more than 20 ahead of 1, 2 and 3"
        assert arrived.index(201) < arrived.index(200)


class InSeconds(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value * 1_000 if record_timestamp == value else -1


def test_timestamps_and_watermarks_anywhere_in_the_graph(env: StreamExecutionEnvironment, mode: str) -> None:
    """The source's watermarks are dropped; the new ones follow the new timestamps, of each subtask on its own."""
    env.set_parallelism(1)
    source = RoundsSource({"a": [[1, 5], [20, 7], [40]]})
    stream = (
        env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
        .map(lambda n: n, Types.LONG())
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2)).with_timestamp_assigner(InSeconds())
        )
        .filter(lambda n: n != 7)
    )
    fired = list(stream.key_by(lambda n: 0).process(Echo()).execute_and_collect())
    if mode == "STREAMING":
        assert fired == [(1_000, 2_999), (5_000, 17_999), (20_000, END), (40_000, END)]
    else:
        assert fired == [(n, END) for n in (1_000, 5_000, 20_000, 40_000)]


class Both(KeyedCoProcessFunction):
    def process_element1(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    process_element2 = process_element1

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp, ctx.timer_service().current_watermark()


def test_an_operator_of_two_inputs_waits_for_both(local_env: StreamExecutionEnvironment, local_mode: str) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    first = local_env.from_source(RoundsSource({"a": [[1], [50], [51], [52]]}), strategy, "first")
    second = local_env.from_source(RoundsSource({"b": [[2], [3], [60], [61]]}), strategy, "second")
    joined = first.key_by(lambda n: 0).connect(second.key_by(lambda n: 0)).process(Both())
    fired = list(joined.execute_and_collect())
    if local_mode == "STREAMING":
        # Until the first input ends; then the second alone decides.
        assert fired == [(1, 1), (2, 2), (3, 50), (50, 50), (51, 51), (52, 59), (60, 60), (61, END)]
    else:
        assert fired == [(n, END) for n in (1, 2, 3, 50, 51, 52, 60, 61)]


class PowerCut(KeyedProcessFunction):
    """Says how many records came before each timer; fails in the second round until the power is back."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        if value == 21 and not (self.directory / "power is back").exists():
            raise RuntimeError("power cut")
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        yield Row(t=timestamp, watermark=ctx.timer_service().current_watermark(), count=self.count.value())


RESULT = Types.ROW_NAMED(["t", "watermark", "count"], [Types.LONG(), Types.LONG(), Types.LONG()])


@pytest.mark.parametrize("where", ["source", "operator"])
def test_a_restart_in_the_middle(env: StreamExecutionEnvironment, mode: str, tmp_path: Path, where: str) -> None:
    """Watermarks, generators and timers go on from where they were: those of `a` are known in the second run too."""
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(5)
    for attempt in range(2):
        source = RoundsSource({"a": [[10, 20], [], [30]], "b": [[12], [21, 40], [50]]})
        if where == "source":
            stream = env.from_source(source, strategy, "numbers")
        else:
            stream = env.from_source(source, None, "numbers").assign_timestamps_and_watermarks(strategy)
        stream.key_by(lambda n: 0).process(PowerCut(tmp_path), RESULT).sink_to(FileSink(str(tmp_path / "out"), "json"))
        if attempt == 0:
            with pytest.raises(JobExecutionException, match="power cut"):
                env.execute()
            (tmp_path / "power is back").touch()
        else:
            env.execute()
    lines = [line for path in sorted((tmp_path / "out").glob("*.json")) for line in path.read_text().splitlines()]
    results = sorted((row["t"], row["watermark"], row["count"]) for row in map(json.loads, lines))
    times = [10, 12, 20, 21, 30, 40, 50]
    if mode == "BATCH":
        assert results == [(t, END, 7) for t in times]
    elif where == "source":
        # Round 1: a at 14, b at 6. Round 2: b at 34, so 14. Round 3: a at 24, a ends, so 34; b at 44.
        assert results == [
            (10, 14, 5), (12, 14, 5), (20, 24, 6), (21, 24, 6), (30, 34, 6), (40, 44, 7), (50, END, 7)
        ]  # fmt: skip
    else:
        # One generator for both splits. Round 1: 14. Round 2: 34. Round 3 comes with the end.
        assert results == [
            (10, 14, 3), (12, 14, 3), (20, 34, 5), (21, 34, 5), (30, END, 7), (40, END, 7), (50, END, 7)
        ]  # fmt: skip


@pytest.mark.parametrize("engine_and_mode", [LOCAL[0], SPARK[0]])
@pytest.mark.parametrize("where", ["source", "operator"])
def test_a_silent_split_is_left_out_after_a_while(env: StreamExecutionEnvironment, where: str) -> None:
    """As a stream alone: batch execution does not run what has no end."""
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(100))
    source = RoundsSource({"a": [[1, 5]], "silent": [[]]}, ends=False)
    if where == "source":
        stream = env.from_source(source, strategy, "numbers")
    else:
        stream = env.from_source(source, None, "numbers").assign_timestamps_and_watermarks(strategy)
    fired = stream.key_by(lambda n: 0).process(Echo()).execute_and_collect(limit=1)
    assert fired == [(1, 4)]


def test_a_strategy_that_is_none_is_refused(local_env: StreamExecutionEnvironment) -> None:
    stream = local_env.from_collection([1])
    with pytest.raises(TypeError, match=r"assign_timestamps_and_watermarks: `watermark_strategy` is 5 \(int\)"):
        stream.assign_timestamps_and_watermarks(5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="from_source: `watermark_strategy` is 'monotonous'"):
        local_env.from_source(RoundsSource({"a": [[1]]}), "monotonous")  # pyright: ignore[reportArgumentType]
    stream.print()


def test_a_timestamp_that_is_none_fails_the_job_with_the_record(local_env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record["time"])
    stream = local_env.from_collection([{"time": 1}, {"time": None}]).assign_timestamps_and_watermarks(strategy)
    with pytest.raises(JobExecutionException, match="expected milliseconds") as failure:
        list(stream.execute_and_collect())
    assert failure.value.report is not None
    assert failure.value.report.record == "{'time': None}"


def test_the_event_time_timer_example(local_env: StreamExecutionEnvironment) -> None:
    """PyFlink's `event_time_timer`: all records come before the watermark, as they do there."""

    class Sum(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.state = runtime_context.get_state(ValueStateDescriptor("state", Types.DOUBLE()))

        def process_element(self, value: Any, ctx: Any) -> None:
            self.state.update((self.state.value() or 0.0) + value[2])
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 2000)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
            yield ctx.get_current_key(), round(self.state.value(), 1)

    payments = [
        (1000, "Alice", 110.1), (4000, "Bob", 30.2), (3000, "Alice", 20.0), (2000, "Bob", 53.1),
        (5000, "Alice", 13.1), (3000, "Bob", 3.1), (7000, "Bob", 16.1), (10000, "Alice", 20.1),
    ]  # fmt: skip
    stream = local_env.from_collection(payments).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2)).with_timestamp_assigner(
            lambda value, _: value[0]
        )
    )
    printed = Counter(stream.key_by(lambda value: value[1]).process(Sum()).execute_and_collect())
    assert printed == {("Alice", 163.3): 4, ("Bob", 102.5): 4}
