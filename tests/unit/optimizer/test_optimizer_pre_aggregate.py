"""Records that are aggregated before they are sent: windows and late records are what they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, Types
from penstock.datastream import DataStream, OutputTag, StreamExecutionEnvironment, WindowedStream
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.engine.stages import edge_writer
from penstock.engine.stages.envelope import Kind
from penstock.execution.submit import plan_to_run
from penstock.expressions import avg, count, max_, min_, sum_, window_end, window_start
from penstock.runtime import pane_groups
from penstock.runtime.metrics import LATE_RECORDS_DROPPED
from penstock.testing import ScriptedSource, fail, local_environment, record, watermark
from penstock.testing.memory_sink import MemorySink
from penstock.testing.script import Watermark

TYPE = Types.ROW_NAMED(["k", "v", "x", "s"], [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.STRING()])
AGGREGATES = {
    "start": window_start(),
    "end": window_end(),
    "total": sum_("v"),
    "least": min_("s"),
    "most": max_("x"),
    "mean": avg("v"),
    "known": count("x"),
}
ASSIGNERS = (
    TumblingEventTimeWindows.of(10),
    TumblingEventTimeWindows.of(10, 3),
    SlidingEventTimeWindows.of(20, 5),
    SlidingEventTimeWindows.of(5, 15),
    CumulativeEventTimeWindows.of(30, 10),
)


@pytest.fixture
def always_combines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_writer, "FEWEST_RECORDS", 1)
    monkeypatch.setattr(pane_groups, "_MOST_GROUPS_PER_RECORD", 1.0)


def environment(disabled: str = "") -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("optimizer.disabled-rules", disabled)
    configuration.set_string("execution.epoch.max-records", "20")
    configuration.set_string("restart-strategy.type", "fixed-delay")
    return local_environment(configuration, parallelism=2)


Applied = Callable[[WindowedStream], DataStream]


def outcome(
    disabled: str,
    splits: list[list[Any]],
    window: Any,
    apply: Applied = lambda windows: windows.aggregate(**AGGREGATES),
) -> tuple[Counter[str], int, dict[str, int]]:
    """The results, how many records came too late, and the records in and out of the windows."""
    env = environment(disabled)
    out = MemorySink()
    source = ScriptedSource(*splits, type_info=TYPE)
    windows = apply(env.from_source(source).key_by("k").window(window)).uid("windows")
    windows.map(lambda row: [repr(row)]).sink_to(out)
    client = env.execute_async()
    client.wait()
    metrics = client.metrics()
    late = sum(counter(task["metrics"], LATE_RECORDS_DROPPED) for task in metrics["tasks"].values())
    return Counter(text for (text,) in out.records), late, metrics["operators"]["windows"]


def counter(metrics: dict[str, Any], name: str) -> int:
    """A counter, summed over all operators of a task."""
    return sum(count for full, count in metrics["counters"].items() if full.endswith(name))


records = st.builds(
    lambda k, v, x, s, at: record(Row(k=k, v=v, x=x, s=s), at),
    st.sampled_from(("a", "b", "c")),
    st.one_of(st.none(), st.integers(-(1 << 40), 1 << 40)),
    # Sums of these are exact in any order.
    st.one_of(st.none(), st.sampled_from((0.0, 0.5, -2.25, 1e6))),
    st.one_of(st.none(), st.text("xyz", max_size=3)),
    st.integers(0, 60),
)


def scripts_of(records: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Some records, and watermarks that rise."""
    steps = st.one_of(records, records, records, st.integers(0, 60).map(watermark))
    return st.lists(steps, max_size=40).map(_rising)


def _rising(script: list[Any]) -> list[Any]:
    highest = accumulate((step.timestamp for step in script if isinstance(step, Watermark)), max)
    return [watermark(next(highest)) if isinstance(step, Watermark) else step for step in script]


@pytest.mark.usefixtures("always_combines")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(scripts_of(records), min_size=1, max_size=3), st.sampled_from(ASSIGNERS))
def test_windows_and_late_records_are_the_same(splits: list[list[Any]], window: Any) -> None:
    assert outcome("", splits, window) == outcome("pre-aggregate", splits, window)


@pytest.mark.usefixtures("always_combines")
def test_a_failure_in_the_middle_changes_nothing() -> None:
    script = [record(Row(k="ab"[n % 2], v=n, x=0.5, s="x"), n) for n in range(60)]
    watermarks = [*script[:30], watermark(25), *script[30:50], watermark(25), script[2], *script[50:]]
    whole = outcome("pre-aggregate", [watermarks], SlidingEventTimeWindows.of(20, 5))
    failing = [*watermarks[:45], fail(), *watermarks[45:]]
    restarted = outcome("", [failing], SlidingEventTimeWindows.of(20, 5))
    assert whole[1] == 1
    assert restarted[0] == whole[0]


@pytest.fixture
def rows_on_the_way(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The kind and the number of bytes of all buffers that are sent."""
    sent: list[tuple[int, int]] = []
    send = edge_writer.EdgeWriter._send

    def noted(self: Any, target: int, kind: Kind, content: bytes) -> None:
        sent.append((kind, len(content)))
        send(self, target, kind, content)

    monkeypatch.setattr(edge_writer.EdgeWriter, "_send", noted)
    return sent


def many(keys: int) -> list[Any]:
    return [record(Row(k=str(n % keys), v=n, x=0.5, s="x"), n % 10) for n in range(1_000)]


def sent_kinds(sent: list[tuple[int, int]]) -> set[int]:
    return {kind for kind, _ in sent} & {Kind.DATA, Kind.PARTIALS}


def test_many_records_of_a_key_become_one_row(rows_on_the_way: list[tuple[int, int]]) -> None:
    configuration = Configuration()
    env = local_environment(configuration, parallelism=2)
    source = ScriptedSource(many(3), type_info=TYPE)
    windows = env.from_source(source).key_by("k").window(TumblingEventTimeWindows.of(10)).aggregate(n=count())
    assert sorted((row.k, row.n) for row in windows.execute_and_collect()) == [("0", 334), ("1", 333), ("2", 333)]
    assert sent_kinds(rows_on_the_way) == {Kind.PARTIALS}
    assert sum(size for kind, size in rows_on_the_way if kind == Kind.PARTIALS) < 2_000


def test_records_of_many_keys_are_sent_as_they_are(rows_on_the_way: list[tuple[int, int]]) -> None:
    env = local_environment(parallelism=2)
    source = ScriptedSource(many(900), type_info=TYPE)
    windows = env.from_source(source).key_by("k").window(TumblingEventTimeWindows.of(10)).aggregate(n=count())
    assert sum(row.n for row in windows.execute_and_collect()) == 1_000
    assert sent_kinds(rows_on_the_way) == {Kind.DATA}


@pytest.mark.usefixtures("always_combines")
def test_a_sum_that_fits_only_where_all_records_meet() -> None:
    """Half of the records overflow on their own; a sender that cannot add them sends them one by one."""
    large = (1 << 62) + 1
    values = [large, large, -large, -large, 5]
    script = [record(Row(k="a", v=value, x=None, s=None), 1) for value in values]
    results, _, _ = outcome(
        "",
        [script[:2], script[2:]],
        TumblingEventTimeWindows.of(10),
        lambda windows: windows.aggregate(total=sum_("v")),
    )
    assert results == Counter(["Row(k='a', total=5)"])


@pytest.mark.usefixtures("always_combines")
def test_the_last_record_of_a_window_may_be_in_its_first_pane() -> None:
    times = [1, 6, 2]
    script = [record(Row(k="a", v=number, x=None, s=None), time) for number, time in enumerate(times)]
    sliding = SlidingEventTimeWindows.of(10, 5)
    for disabled in ("", "pre-aggregate"):
        results, _, _ = outcome(disabled, [script], sliding, lambda windows: windows.reduce(lambda one, other: other))
        assert results["Row(k='a', v=2, x=None, s=None)"] == 2


def with_late_output(stream: DataStream) -> DataStream:
    late = OutputTag("late", TYPE)
    windows = stream.key_by("k").window(TumblingEventTimeWindows.of(10)).side_output_late_data(late)
    results = windows.aggregate(n=count())
    results.get_side_output(late).print()
    return results


UNFIT: dict[str, Callable[[DataStream], DataStream]] = {
    "late records that somebody reads": with_late_output,
    "lateness": lambda stream: (
        stream.key_by("k").window(TumblingEventTimeWindows.of(10)).allowed_lateness(5).aggregate(n=count())
    ),
    "sessions": lambda stream: (
        stream.key_by("k").window(ProcessingTimeSessionWindows.with_gap(10)).aggregate(n=count())
    ),
    "a function that is not known": lambda stream: (
        stream.key_by("k").window(TumblingEventTimeWindows.of(10)).reduce(lambda one, other: max(one, other, key=str))
    ),
    "the last record, which may be in any pane": lambda stream: (
        stream.key_by("k").window(SlidingEventTimeWindows.of(10, 5)).reduce(lambda one, other: other)
    ),
    "sums of floating-point numbers in the order of arrival": lambda stream: (
        stream.key_by("k").window(TumblingEventTimeWindows.of(10)).sum("x")
    ),
}


@pytest.mark.parametrize("program", UNFIT)
def test_where_it_would_show_nothing_is_done(program: str) -> None:
    env = environment()
    UNFIT[program](env.from_source(ScriptedSource([], type_info=TYPE))).print()
    plan = plan_to_run(env.get_plan(), env.configuration)
    assert not any(edge.is_combined for edge in plan.edges)
    assert not any(rewrite.startswith("pre-aggregate") for rewrite in plan.rewrites)


def test_explain_says_so() -> None:
    env = environment()
    stream = env.from_source(ScriptedSource([], type_info=TYPE)).key_by("k")
    stream.window(TumblingEventTimeWindows.of(10)).aggregate(n=count()).uid("windows").print()
    explained = env.explain()
    assert "hash(k) of k, aggregated before, to stage 1" in explained
    assert "pre-aggregate: [2] 'TumblingEventTimeWindows'" in explained
