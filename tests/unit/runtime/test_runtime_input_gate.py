from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.input_gate import InputGate
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK


def gate_with(**watermarks: int) -> InputGate:
    gate = InputGate()
    for number in range(len(watermarks)):
        gate.add(number)
    for number, watermark in enumerate(watermarks.values()):
        gate.update(number, watermark)
    return gate


def test_the_watermark_is_the_least_of_all_channels() -> None:
    gate = InputGate()
    gate.add(0)
    gate.add(1)
    assert gate.update(0, 10) is None
    assert gate.update(1, 7) == 7
    assert gate.update(1, 20) == 10
    assert gate.watermark == 10


def test_a_watermark_that_goes_back_is_ignored() -> None:
    gate = gate_with(a=10)
    assert gate.update(0, 5) is None
    assert gate.watermark == 10
    assert gate.update(0, 11) == 11


def test_an_idle_channel_is_left_out() -> None:
    gate = gate_with(a=10, b=3)
    assert gate.mark_idle(1) == 10
    assert not gate.is_idle


def test_a_reactivated_channel_that_is_behind_does_not_count_until_it_has_caught_up() -> None:
    gate = gate_with(a=10, b=3)
    gate.mark_idle(1)
    assert gate.mark_active(1) is None
    assert gate.update(1, 5) is None
    assert gate.update(0, 12) == 12
    assert gate.update(1, 13) is None
    assert gate.update(0, 20) == 13


def test_the_watermark_of_an_idle_channel_counts_once_it_is_active() -> None:
    gate = gate_with(a=10, b=3)
    gate.mark_idle(1)
    assert gate.update(1, 15) is None
    assert gate.update(0, 20) == 20
    assert gate.mark_active(1) is None
    assert gate.update(0, 30) == 30


def test_when_all_are_idle_the_gate_is_idle_at_the_greatest_watermark() -> None:
    gate = gate_with(a=10, b=3)
    assert gate.mark_idle(0) is None
    assert gate.mark_idle(1) == 10
    assert gate.is_idle
    gate.mark_active(0)
    assert not gate.is_idle


def test_an_ended_channel_holds_nothing_back() -> None:
    gate = gate_with(a=10, b=3)
    assert gate.mark_ended(1) == 10
    assert not gate.is_ended
    assert gate.mark_ended(0) == MAX_WATERMARK
    assert gate.is_ended
    assert not gate.is_idle


def test_an_ended_channel_does_not_end_time_for_an_idle_one() -> None:
    gate = gate_with(a=10, b=3)
    gate.mark_ended(0)
    assert gate.mark_idle(1) is None
    assert gate.is_idle
    assert gate.watermark == 3
    gate.mark_active(1)
    assert gate.update(1, 8) == 8


def test_an_ended_channel_cannot_become_idle() -> None:
    gate = gate_with(a=10)
    gate.mark_ended(0)
    gate.mark_idle(0)
    assert gate.is_ended


def test_a_new_channel_holds_the_watermark_where_it_is() -> None:
    gate = gate_with(a=10)
    gate.add(1)
    assert gate.update(0, 20) is None
    assert gate.update(1, 4) is None
    assert gate.watermark == 10
    assert gate.update(1, 15) == 15


def test_a_gate_without_channels_is_neither_idle_nor_ended() -> None:
    gate = InputGate()
    assert (gate.watermark, gate.is_idle, gate.is_ended) == (MIN_WATERMARK, False, False)


class NaiveGate:
    """The rules, said as directly as possible and without any shortcut."""

    def __init__(self) -> None:
        self.watermarks: dict[int, int] = {}
        self.waiting: dict[int, int] = {}
        self.idle: set[int] = set()
        self.ended: set[int] = set()
        self.lagging: set[int] = set()
        self.watermark = MIN_WATERMARK

    def add(self, channel: int) -> None:
        self.watermarks.setdefault(channel, MIN_WATERMARK)

    def update(self, channel: int, watermark: int) -> None:
        self.add(channel)
        if channel in self.idle:
            self.waiting[channel] = max(watermark, self.waiting.get(channel, MIN_WATERMARK))
            return
        self.watermarks[channel] = max(watermark, self.watermarks[channel])
        if self.watermarks[channel] >= self.watermark:
            self.lagging.discard(channel)

    def mark_idle(self, channel: int) -> None:
        self.add(channel)
        if channel not in self.ended:
            self.idle.add(channel)
            self.lagging.discard(channel)

    def mark_active(self, channel: int) -> None:
        self.add(channel)
        if channel in self.idle:
            self.idle.discard(channel)
            self.watermarks[channel] = max(self.watermarks[channel], self.waiting.pop(channel, MIN_WATERMARK))
            if self.watermarks[channel] < self.watermark:
                self.lagging.add(channel)

    def mark_ended(self, channel: int) -> None:
        self.watermarks[channel] = MAX_WATERMARK
        self.waiting.pop(channel, None)
        self.ended.add(channel)
        self.idle.discard(channel)
        self.lagging.discard(channel)

    def settle(self) -> None:
        unfinished = {c: w for c, w in self.watermarks.items() if w < MAX_WATERMARK}
        counting = [w for c, w in unfinished.items() if c not in self.idle and c not in self.lagging]
        if counting:
            self.watermark = max(self.watermark, min(counting))
        elif not self.watermarks:
            pass
        elif not unfinished:
            self.watermark = MAX_WATERMARK
        elif all(channel in self.idle for channel in unfinished):
            self.watermark = max(self.watermark, *unfinished.values())


channels = st.integers(0, 3)
steps = st.one_of(
    st.tuples(st.just("update"), channels, st.integers(0, 30)),
    st.tuples(st.sampled_from(["add", "mark_idle", "mark_active", "mark_ended"]), channels),
)


@given(st.lists(steps, max_size=60))
def test_any_sequence_of_events_agrees_with_the_rules(sequence: list[tuple[str, int, int]]) -> None:
    gate, model = InputGate(), NaiveGate()
    for name, *arguments in sequence:
        before = gate.watermark
        rise = getattr(gate, name)(*arguments)
        getattr(model, name)(*arguments)
        model.settle()
        assert gate.watermark == model.watermark
        assert gate.watermark >= before
        assert rise == (None if gate.watermark == before else gate.watermark)


@given(st.lists(steps, max_size=40), st.lists(steps, max_size=20))
def test_a_restored_gate_goes_on_like_the_original(
    before: list[tuple[str, int, int]], after: list[tuple[str, int, int]]
) -> None:
    gate = InputGate()
    for name, *arguments in before:
        getattr(gate, name)(*arguments)
    restored = InputGate.restore(json.loads(json.dumps(gate.snapshot())))
    for name, *arguments in after:
        assert getattr(restored, name)(*arguments) == getattr(gate, name)(*arguments)
    assert restored.snapshot() == gate.snapshot()
    assert (restored.is_idle, restored.is_ended) == (gate.is_idle, gate.is_ended)
