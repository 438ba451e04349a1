"""Which partitions machines give up, and which numbers Spark's hash sends where."""

from __future__ import annotations

from collections import Counter
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.spark.sticky_stages import routes, surplus

HOSTS = ["a", "b", "c"]


def test_known_hashes_of_spark() -> None:
    """`SELECT hash(n)` for 0, 1 and 2 is 933211791, -559580957 and 1765031574; modulo 4 that is 3, 3 and 2."""
    assert routes(4) == [12, 6, 2, 0]


@given(
    places=st.lists(st.sampled_from([*HOSTS, "gone", None]), min_size=1, max_size=40),
    executors=st.dictionaries(st.sampled_from(HOSTS), st.integers(1, 4), min_size=1),
)
def test_nobody_keeps_more_than_a_share_and_there_is_enough_for_those_with_less(
    places: list[str | None], executors: dict[str, int]
) -> None:
    given_up = surplus(places, executors)
    had = Counter(place for place in places if place in executors)
    kept = had - Counter(places[partition] for partition in given_up)
    free = len(places) - kept.total()
    lacking = 0
    for host, number in executors.items():
        exact = len(places) * number / sum(executors.values())
        assert kept[host] < exact + 1
        assert kept[host] >= min(had[host], floor(exact)), "nobody gives up what is in the share"
        lacking += max(0, floor(exact) - kept[host])
    assert free >= lacking


def test_a_new_machine_gets_something_although_nobody_has_too_much() -> None:
    assert surplus(["a", "b", "a", "b"], {"a": 1, "b": 1, "c": 1}) == [3]
    assert surplus(["a", "b", "a", "c"], {"a": 1, "b": 1, "c": 1}) == []


@pytest.mark.parametrize("partitions", [1, 2, 7, 64])
def test_every_partition_has_a_number_of_its_own(partitions: int) -> None:
    assert len(set(routes(partitions))) == partitions
