"""Late records of joins on both engines and in both modes: their side outputs, and what they are not part of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.one_job import collect_each
from penstock.common import Types
from penstock.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import ScriptedSource, pause, record, watermark

Record = tuple[str, int, int]
"""Key, number, timestamp."""

RECORD = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
LATE_LEFT, LATE_RIGHT = OutputTag("late left", RECORD), OutputTag("late right", RECORD)


def with_a_late_record(env: StreamExecutionEnvironment, number: int) -> DataStream:
    """Two records and, when event time is at 200 everywhere, one of 110, and one of 300 with another key."""
    early = [record(("a", number + step, time), time) for step, time in enumerate((100, 140))]
    later = [record(("a", number + 2, 110), 110), record(("bc"[number == 20], number + 3, 300), 300)]
    script = [*early, watermark(200), pause("50 ms"), *later, pause("50 ms")]
    return env.from_source(ScriptedSource(script, type_info=RECORD))


def numbers(pairs: Iterable[tuple[Record | None, Record | None]]) -> list[Any]:
    return sorted(((one and one[1], two and two[1]) for one, two in pairs), key=repr)


def test_late_records_of_both_streams_have_side_outputs(env: StreamExecutionEnvironment, mode: str) -> None:
    left, right = with_a_late_record(env, 10), with_a_late_record(env, 20)
    windows = TumblingEventTimeWindows.of(100)
    made = {
        "interval": left.key_by(0).interval_join(right.key_by(0)).between(-5, 5),
        "version": left.key_by(0).temporal_join(right.key_by(0), how="left"),
        "left": left.join(right, how="left").where(0).equal_to(0).window(windows),
        "right": left.join(right, how="right").where(0).equal_to(0).window(windows),
    }
    streams: dict[str, DataStream] = {}
    for name, without_tags in made.items():
        join: Any = without_tags.side_output_left_late_data(LATE_LEFT).side_output_right_late_data(LATE_RIGHT)
        if name == "interval":
            joined = join.process(lambda one, two, ctx: [(one, two)], Types.PICKLED_BYTE_ARRAY())
        else:
            joined = join.apply(lambda one, two: (one, two), Types.PICKLED_BYTE_ARRAY())
        late = {f"{name}, {tag.tag_id}": joined.get_side_output(tag) for tag in (LATE_LEFT, LATE_RIGHT)}
        streams |= {name: joined, **late}
    found = collect_each(env, streams)
    is_late = mode == "STREAMING"
    for name in made:
        late_left, late_right = (found[f"{name}, {tag.tag_id}"] for tag in (LATE_LEFT, LATE_RIGHT))
        assert [tuple(each) for each in late_left] == ([("a", 12, 110)] if is_late else []), name
        assert [tuple(each) for each in late_right] == ([("a", 22, 110)] if is_late else []), name
    in_window = [(one, two) for one in (10, 11, 12)[: 3 - is_late] for two in (20, 21, 22)[: 3 - is_late]]
    assert numbers(found["interval"]) == [(10, 20), (11, 21), (12, 22)][: 3 - is_late]
    assert numbers(found["version"]) == sorted(
        [(10, 20), (11, 21), (13, None), *([] if is_late else [(12, 22)])], key=repr
    )
    assert numbers(found["left"]) == sorted([*in_window, (13, None)], key=repr)
    assert numbers(found["right"]) == sorted([*in_window, (None, 23)], key=repr)
