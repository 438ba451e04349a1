"""Strategies: what they are made of, and what they refuse."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Duration, WatermarkStrategy
from penstock.common.errors import ArgumentError
from penstock.common.timestamp_assigner import RecordTimestampAssigner
from penstock.common.watermark_generator import BoundedOutOfOrdernessWatermarks
from penstock.common.watermark_strategy import TimestampAssigner, Watermark, WatermarkGenerator, WatermarkOutput

LOWEST = -(1 << 63)


class Emitted(WatermarkOutput):
    def __init__(self) -> None:
        self.watermarks: list[int] = []

    def emit_watermark(self, watermark: Any) -> None:
        self.watermarks.append(watermark if isinstance(watermark, int) else watermark.timestamp)

    def mark_idle(self) -> None:
        raise NotImplementedError

    def mark_active(self) -> None:
        raise NotImplementedError


def emitted_after(strategy: WatermarkStrategy, *timestamps: int) -> list[int]:
    generator, output = strategy.create_generator(), Emitted()
    for timestamp in timestamps:
        generator.on_event("event", timestamp, output)
    generator.on_periodic_emit(output)
    return output.watermarks


def test_monotonous_watermarks_are_one_below_the_highest_timestamp() -> None:
    assert emitted_after(WatermarkStrategy.for_monotonous_timestamps(), 10, 30, 20) == [29]


def test_out_of_order_watermarks_are_behind_by_the_bound() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    assert emitted_after(strategy, 5_000, 9_000) == [6_999]


@pytest.mark.parametrize("delay", [0, 1, 86_400_000])
def test_before_the_first_record_there_is_no_watermark(delay: int) -> None:
    assert emitted_after(WatermarkStrategy.for_bounded_out_of_orderness(delay)) == [LOWEST]


@given(st.lists(st.integers(LOWEST, -LOWEST - 1), min_size=1), st.integers(0, 10_000))
def test_no_timestamp_takes_a_watermark_out_of_range(timestamps: list[int], delay: int) -> None:
    (watermark,) = emitted_after(WatermarkStrategy.for_bounded_out_of_orderness(delay), *timestamps)
    assert LOWEST <= watermark < max(timestamps) or watermark == LOWEST


def test_a_restored_generator_goes_on_and_the_bound_is_that_of_the_program() -> None:
    before = BoundedOutOfOrdernessWatermarks(1_000)
    before.on_highest(50_000)
    after, output = BoundedOutOfOrdernessWatermarks(5_000), Emitted()
    after.restore(before.snapshot())
    after.on_periodic_emit(output)
    assert output.watermarks == [44_999]


def test_no_watermarks() -> None:
    assert emitted_after(WatermarkStrategy.no_watermarks(), 1, 2) == []


class Tens(WatermarkGenerator):
    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.seen += 1
        if event_timestamp % 10 == 0:
            output.emit_watermark(Watermark(event_timestamp))


def test_every_split_gets_a_generator_of_its_own() -> None:
    strategy = WatermarkStrategy.for_generator(Tens)
    first, second = strategy.create_generator(), strategy.create_generator()
    first.on_event("event", 7, Emitted())
    assert (first.snapshot(), second.snapshot()) == ({"seen": 1}, {"seen": 0})
    assert emitted_after(WatermarkStrategy.for_generator(Tens), 7, 10, 20) == [10, 20]


def test_a_plain_generator_is_saved_by_its_attributes() -> None:
    generator, restored = Tens(), Tens()
    generator.seen = 5
    restored.restore(generator.snapshot())
    assert restored.seen == 5


def test_settings_are_kept_whatever_their_order() -> None:
    class AtTen(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return 10

    plain = WatermarkStrategy.for_bounded_out_of_orderness(timedelta(seconds=1))
    full = (
        plain.with_timestamp_assigner(AtTen())
        .with_idleness("30 s")
        .with_watermark_alignment("group", Duration.of_seconds(20), Duration.of_seconds(1))
    )
    assert isinstance(full.timestamp_assigner, AtTen)
    assert (full.idle_timeout_ms, full.alignment and full.alignment.max_drift_ms) == (30_000, 20_000)
    assert full.describe() == "watermarks 1000 ms behind, idle after 30000 ms, aligned in group 'group'"
    assert isinstance(plain.timestamp_assigner, RecordTimestampAssigner)
    assert plain.idle_timeout_ms is None


def test_a_function_can_assign_timestamps() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value, before: value["t"] + before)
    assert strategy.timestamp_assigner.extract_timestamp({"t": 3}, 4) == 7


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.for_bounded_out_of_orderness(-1), "cannot be negative"),
        (lambda s: s.for_bounded_out_of_orderness(None), "`max_out_of_orderness`: None is not a duration"),
        (lambda s: s.for_bounded_out_of_orderness("soon"), "'soon' is not a duration"),
        (lambda s: s.no_watermarks().with_idleness(0), "at least 1 ms"),
        (lambda s: s.no_watermarks().with_timestamp_assigner(None), "expected a TimestampAssigner, or a function"),
        (lambda s: s.no_watermarks().with_timestamp_assigner(lambda v: v), "a record and its timestamp so far"),
        (lambda s: s.no_watermarks().with_timestamp_assigner(TimestampAssigner), "expected a TimestampAssigner"),
        (lambda s: s.no_watermarks().with_watermark_alignment("", "1 s"), "the name of a group"),
        (lambda s: s.for_generator(Tens()), "write Tens"),
        (lambda s: s.for_generator("Tens"), "a class of generators"),
        (lambda s: s.for_generator(lambda context: Tens()), "a function without arguments"),
    ],
)
def test_what_cannot_be_is_refused_at_the_users_line(build: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match="WatermarkStrategy") as refusal:
        build(WatermarkStrategy)
    assert message in str(refusal.value)
    assert __file__ in str(refusal.value)
