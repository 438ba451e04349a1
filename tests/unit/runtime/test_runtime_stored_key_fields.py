"""Open windows in columns go on whether or not it is known, before and now, which fields are the key's."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import StateError
from penstock.datastream import DataStream, KeyedStream
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.testing import Harness, harness

TEN = TumblingEventTimeWindows.of(10)
FIELDS = [Types.STRING(), Types.LONG(), Types.STRING()]
STEPS = [(("a", 1, "x"), 1), (("b", 2, "y"), 2), (("a", 4, "z"), 11), (("a", 8, "u"), 3), (("b", 16, "v"), 12)]


def by_field(stream: DataStream) -> KeyedStream:
    return stream.key_by(lambda record: record[0], Types.STRING())


def by_what_nobody_looks_into(stream: DataStream) -> KeyedStream:
    return stream.key_by(lambda record: "".join([*record[0]]), Types.STRING())


SUMS: dict[str, tuple[int, Any]] = {
    "the key and a sum": (2, lambda windows: windows.sum(1)),
    "the first": (3, lambda windows: windows.sum(1)),
    "the last key": (2, lambda windows: windows.reduce(lambda one, other: (other[0], one[1] + other[1]))),
    "the last": (3, lambda windows: windows.reduce(lambda one, other: (other[0], one[1] + other[1], other[2]))),
}


def sums(key: Any, assigner: Any, width: int, make: Any) -> Harness:
    return harness(lambda stream: make(key(stream).window(assigner)).uid("sums"), Types.TUPLE(FIELDS[:width]))


@pytest.mark.parametrize("assigner", [TEN, SlidingEventTimeWindows.of(20, 10)], ids=repr)
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("keys", [(by_field, by_what_nobody_looks_into), (by_what_nobody_looks_into, by_field)])
def test_results_are_those_of_a_program_that_never_changed(assigner: Any, name: str, keys: Any) -> None:
    width, make = SUMS[name]
    before, after, whole = (sums(key, assigner, width, make) for key in (*keys, keys[0]))
    for place, (value, time) in enumerate(STEPS):
        if place == 3:
            after.restore(before.snapshot())
            after.restore(after.snapshot())
        (before if place < 3 else after).process_element(value[:width], time)
        whole.process_element(value[:width], time)
    after.process_watermark(100)
    whole.process_watermark(100)
    assert after.output() == whole.output()


def test_another_function_is_refused() -> None:
    before = sums(by_field, TEN, 3, SUMS["the first"][1])
    before.process_element(("a", 1, "x"), 1)
    after = sums(by_what_nobody_looks_into, TEN, 3, SUMS["the last"][1])
    with pytest.raises(StateError, match="its open windows have ColumnarWindows"):
        after.restore(before.snapshot())
