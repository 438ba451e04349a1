"""Processing time under clocks that somebody sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.epochs.processing_time import ProcessingTime

DAY = 86_400_000


class Settable:
    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@given(st.lists(st.integers(-DAY, DAY), max_size=30), st.integers(0, 10 * DAY))
def test_time_never_goes_back(jumps: list[int], committed: int) -> None:
    clock = Settable(5 * DAY)
    time = ProcessingTime(clock)
    last = time.now(committed)
    assert last == max(5 * DAY, committed)
    for jump in jumps:
        clock.now += jump
        assert time.now(last) >= last
        last = time.now(last)


def test_time_goes_on_after_the_clock_was_set_back_and_the_two_meet_again() -> None:
    clock = Settable(10 * DAY)
    time = ProcessingTime(clock)
    before = time.now(0)
    clock.now -= DAY
    assert time.now(before) == before
    clock.now += 1000
    assert time.now(before) == before + 500
    for _ in range(3):
        clock.now += DAY
        time.now(before)
    assert time.now(before) == clock.now


def test_a_machine_whose_clock_is_behind_goes_on_at_once() -> None:
    clock = Settable(1000)
    time = ProcessingTime(clock)
    assert time.now(50_000) == 50_000
    clock.now += 100
    assert time.now(50_000) == 50_050
