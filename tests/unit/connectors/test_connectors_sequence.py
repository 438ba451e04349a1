from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.errors import ConfigurationError
from penstock.connectors.sequence import NumberSequenceSource


def test_both_ends_are_included(run_source):
    assert run_source(NumberSequenceSource(3, 7)).epoch() == [3, 4, 5, 6, 7]


@settings(deadline=None)
@given(
    start=st.integers(-1000, 1000), count=st.integers(1, 300), parallelism=st.integers(1, 7), records=st.integers(1, 50)
)
def test_every_number_comes_once_whatever_the_parallelism_and_budget(run_source, start, count, parallelism, records):
    run = run_source(NumberSequenceSource(start, start + count - 1), parallelism=parallelism)
    numbers = [number for epoch in run.epochs(records=records) for number in epoch]
    assert sorted(numbers) == list(range(start, start + count))
    assert len(run.finished_splits) == min(parallelism, count)


def test_a_restart_with_another_parallelism_goes_on_with_the_same_ranges(run_source):
    run = run_source(NumberSequenceSource(1, 10), parallelism=2)
    first = run.epoch(records=4)
    run._parallelism = 3
    run.restart()
    rest = [number for epoch in run.epochs(records=4) for number in epoch]
    assert sorted(first + rest) == list(range(1, 11))


def test_long_ranges_come_in_several_batches(run_source):
    assert run_source(NumberSequenceSource(0, 199_999)).epoch() == list(range(200_000))


def test_the_largest_number_of_64_bits_can_be_reached(run_source):
    largest = (1 << 63) - 1
    assert run_source(NumberSequenceSource(largest - 1, largest)).epoch() == [largest - 1, largest]


@pytest.mark.parametrize(("start", "end"), [(2, 1), (0, 1 << 63)])
def test_ranges_that_make_no_sense_are_refused(start, end):
    with pytest.raises(ConfigurationError, match="number sequence"):
        NumberSequenceSource(start, end)
