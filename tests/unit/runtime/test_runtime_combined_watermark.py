"""The watermark of splits and of inputs, against the rules said as directly as possible."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.combined_watermark import CombinedWatermark
from penstock.runtime.operator import MIN_WATERMARK


def combined_of(*watermarks: int) -> CombinedWatermark:
    combined = CombinedWatermark()
    for part in range(len(watermarks)):
        combined.add(part)
    for part, watermark in enumerate(watermarks):
        combined.update(part, watermark)
    return combined


def test_it_is_the_least_of_the_parts() -> None:
    combined = combined_of(10, 7)
    assert combined.watermark == 7
    assert combined.update(1, 20) == 10


def test_an_idle_part_is_left_out_and_counts_at_once_when_it_is_back() -> None:
    combined = combined_of(10, 7)
    assert combined.set_idle(1, True) == 10
    assert combined.update(1, 8) is None
    assert combined.update(0, 30) is None, "the part that is behind holds the others, unlike a channel of a gate"
    assert combined.update(1, 40) == 30


def test_when_all_are_idle_it_is_the_greatest() -> None:
    combined = combined_of(10, 7)
    combined.set_idle(0, True)
    assert combined.set_idle(1, True) == 10
    assert combined.is_idle


def test_without_parts_it_stays() -> None:
    combined = combined_of(10, 7)
    assert combined.remove(1) == 10
    assert combined.remove(0) is None
    assert combined.remove(0) is None
    assert (combined.watermark, len(combined), combined.is_idle) == (10, 0, False)
    combined.add(2)
    assert combined.update(2, 5) is None
    assert combined.update(2, 11) == 11


class Naive:
    def __init__(self) -> None:
        self.parts: dict[int, tuple[int, bool]] = {}
        self.watermark = MIN_WATERMARK

    def add(self, part: int) -> None:
        self.parts.setdefault(part, (MIN_WATERMARK, False))

    def update(self, part: int, watermark: int) -> None:
        self.add(part)
        self.parts[part] = (max(watermark, self.parts[part][0]), False)
        self.settle()

    def set_idle(self, part: int, idle: bool) -> None:
        self.add(part)
        self.parts[part] = (self.parts[part][0], idle)
        self.settle()

    def remove(self, part: int) -> None:
        self.parts.pop(part, None)
        self.settle()

    def settle(self) -> None:
        if self.parts:
            active = [watermark for watermark, idle in self.parts.values() if not idle]
            reached = min(active) if active else max(watermark for watermark, _ in self.parts.values())
            self.watermark = max(self.watermark, reached)


parts = st.integers(0, 3)
steps = st.one_of(
    st.tuples(st.just("update"), parts, st.integers(0, 30)),
    st.tuples(st.just("set_idle"), parts, st.booleans()),
    st.tuples(st.sampled_from(["add", "remove"]), parts),
)


@given(st.lists(steps, max_size=60), st.integers(0, 60))
def test_any_sequence_agrees_with_the_rules_also_when_it_is_restored(
    sequence: list[tuple[str, int, int]], restored_at: int
) -> None:
    combined, model = CombinedWatermark(), Naive()
    for place, (name, *arguments) in enumerate(sequence):
        if place == restored_at:
            combined = CombinedWatermark.restore(json.loads(json.dumps(combined.snapshot())))
        before = combined.watermark
        rise = getattr(combined, name)(*arguments)
        getattr(model, name)(*arguments)
        assert combined.watermark == model.watermark
        assert rise == (None if combined.watermark == before else combined.watermark)
