"""The size of epochs for a target latency, on a simulated job: so much for an epoch, so much for a record."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.source import EpochBudget
from penstock.engine.epochs.epoch_cost import EpochCost
from penstock.engine.epochs.epoch_pace import EpochPace
from penstock.engine.epochs.epoch_sizing import EpochOutcome, EpochSizing

LIMITS = EpochBudget(max_records=1_000_000, max_bytes=1 << 30, parallelism=2)


@dataclass
class Job:
    """Epochs over an input that arrives evenly, driven as the driver loop does it."""

    sizing: EpochSizing
    per_epoch: float
    per_record: float
    waiting: float = 0.0
    now: float = 0.0
    shares: list[float] = field(default_factory=list[float])
    latencies: list[float] = field(default_factory=list[float])
    _began: float | None = None
    _arrived_at: float = 0.0

    def run(self, epochs: int, per_ms: float) -> None:
        for _ in range(epochs):
            self.waiting += (self.now - self._arrived_at) * per_ms
            oldest, self._arrived_at = self._arrived_at, self.now
            began, records = self.now, int(min(self.waiting, self.sizing.budget.max_records))
            self.waiting -= records
            took = self.per_epoch + records * self.per_record
            self.now += took
            since_last = 0.0 if self._began is None else began - self._began
            self._began = began
            is_behind = self.waiting >= 1
            self.sizing.finished(EpochOutcome(records, took, since_last, is_behind))
            self.shares.append(self.sizing.share)
            self.latencies.append(self.now - oldest)
            if not is_behind:
                self.now = max(self.now, began + self.sizing.spacing_ms)


def records(share: float) -> float:
    return share * LIMITS.max_records


def test_it_starts_small_and_grows_while_the_job_is_behind() -> None:
    job = Job(EpochSizing(LIMITS, 2_000), per_epoch=250, per_record=0.002, waiting=50_000_000)
    first = job.sizing.budget
    assert (first.max_records, first.max_bytes, first.parallelism) == (1_000, round((1 << 30) / 1_000), 2)
    job.run(20, per_ms=0)
    assert job.shares == sorted(job.shares)
    assert max(later / earlier for earlier, later in zip(job.shares, job.shares[1:], strict=False)) <= 2.0
    # As many records as make an epoch five times as long as an empty one, or more: four fifths of the top speed.
    assert 500_000 <= records(job.shares[-1]) <= 1_000_000


def test_it_shrinks_when_the_job_has_caught_up() -> None:
    job = Job(EpochSizing(LIMITS, 2_000), per_epoch=250, per_record=0.002, waiting=5_000_000)
    job.run(15, per_ms=10)
    largest = max(job.shares)
    job.run(60, per_ms=10)
    assert job.waiting < 1
    assert records(job.shares[-1]) == pytest.approx((1_000 - 250) / 0.002, rel=0.3)
    assert job.shares[-1] < largest


@pytest.mark.parametrize("target", [1_000, 2_000, 10_000])
@pytest.mark.parametrize("per_ms", [0.1, 10, 100])
def test_a_job_that_keeps_up_waits_as_long_as_its_target_allows(target: int, per_ms: float) -> None:
    job = Job(EpochSizing(LIMITS, target), per_epoch=250, per_record=0.002)
    job.run(60, per_ms)
    assert job.latencies[-1] == pytest.approx(target, rel=0.1)


def test_epochs_are_as_large_as_they_must_be_where_the_target_cannot_be_met() -> None:
    """300 records/ms of at most 500: with epochs of half a second the job would not keep up."""
    job = Job(EpochSizing(LIMITS, 1_000), per_epoch=250, per_record=0.002)
    job.run(200, per_ms=300)
    assert job.waiting < records(job.shares[-1])
    assert max(job.shares[-50:]) <= 1.5 * min(job.shares[-50:])


def test_a_job_with_little_time_to_spare_does_not_read_all_that_it_may() -> None:
    """Nine tenths of its time are taken: it cannot be a quarter faster than its input, whatever its epochs."""
    job = Job(EpochSizing(LIMITS, 100), per_epoch=1, per_record=0.0234, waiting=80_000)
    per_ms = 0.9 / 0.0234
    job.run(1_000, per_ms)
    assert job.waiting < 1
    assert records(job.shares[-1]) * 0.0234 < 100
    job.waiting += 20_000
    job.run(200, per_ms)
    assert job.waiting < 1
    assert max(records(share) for share in job.shares[-200:]) * 0.0234 < 200


@settings(max_examples=60, deadline=None)
@given(
    st.integers(100, 60_000),
    st.floats(1, 2_000),
    st.floats(1e-4, 0.1),
    st.floats(0.001, 0.9),
    st.integers(0, 10_000_000),
)
def test_it_stays_within_its_bounds_catches_up_and_settles(
    target: int, per_epoch: float, per_record: float, load: float, waiting: int
) -> None:
    job = Job(EpochSizing(LIMITS, target), per_epoch, per_record, waiting=waiting)
    # As much as the job could do with the largest epochs, and less.
    per_ms = load * LIMITS.max_records / (per_epoch + LIMITS.max_records * per_record)
    # Until less is left over than one epoch may read.
    while not job.shares or job.waiting > records(job.shares[-1]):
        job.run(100, per_ms)
        assert len(job.shares) < 20_000
    job.run(100, per_ms)
    assert all(0.001 <= share <= 1 for share in job.shares)
    settled = job.shares[-40:]
    assert max(settled) <= 2 * min(settled)
    assert job.waiting <= LIMITS.max_records


def test_records_with_many_bytes_count_by_their_bytes() -> None:
    """The limit of bytes is reached with a tenth of the records: the sizes that were meant are reached all the same."""
    sizing = EpochSizing(LIMITS, 2_000)
    for _ in range(30):
        read = int(sizing.budget.max_records * 0.1)
        sizing.finished(EpochOutcome(read, 100 + read * 0.02, 0, True))
    assert 45_000 <= 0.1 * records(sizing.share) <= 75_000


def test_limits_that_were_reached_with_few_records_once_do_not_end_epochs_for_ever() -> None:
    """Large records, or the first epoch of a source that does not know its records yet."""
    sizing = EpochSizing(LIMITS, 2_000)
    for _ in range(15):
        sizing.finished(EpochOutcome(50, 100, 100, True))
    job = Job(sizing, per_epoch=100, per_record=0.002)
    job.run(200, per_ms=50)
    assert job.latencies[-1] == pytest.approx(2_000, rel=0.1)


def test_an_epoch_without_records_tells_nothing() -> None:
    sizing = EpochSizing(LIMITS, 1_000)
    sizing.finished(EpochOutcome(5_000, 100, 100, True))
    share = sizing.share
    sizing.finished(EpochOutcome(0, 900, 10, False))
    assert sizing.share == share


def test_the_cost_of_epochs_is_learnt_from_epochs_of_several_sizes() -> None:
    cost = EpochCost()
    for size in (100, 1_000, 500, 2_000):
        cost.learn(size, 50 + size * 0.1)
    assert cost.per_epoch_ms == pytest.approx(50, rel=0.01)
    assert cost.per_record_ms == pytest.approx(0.1, rel=0.01)


def test_without_a_target_epochs_have_their_limits_and_do_not_wait() -> None:
    pace = EpochPace(LIMITS, None)
    pace.epoch_ended(0, 500, 10, is_behind=False)
    assert pace.budget == LIMITS
    assert pace.wait_ms(500) == 0


def test_with_a_target_it_waits_for_records_from_the_beginning_of_the_last_epoch() -> None:
    pace = EpochPace(LIMITS, 1_000)
    pace.epoch_ended(0, 100, 10, is_behind=False)
    assert 0 < pace.wait_ms(100) <= 900
    assert pace.wait_ms(2_000) <= 0
