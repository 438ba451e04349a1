"""How the tasks of a job are spread over machines."""

from __future__ import annotations

from collections import Counter
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.pipelined.placement import places_of_stages
from penstock.engine.spark.machines import spread, surplus

HOSTS = ["a", "b", "c"]
EXECUTORS = st.dictionaries(st.sampled_from(HOSTS), st.integers(1, 4), min_size=1)
PLACES = st.lists(st.sampled_from([*HOSTS, "gone", None]), min_size=1, max_size=40)


@given(places=PLACES, executors=EXECUTORS)
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


@given(places=PLACES, executors=EXECUTORS)
def test_all_have_a_machine_and_stay_there_as_long_as_the_machines_do(
    places: list[str | None], executors: dict[str, int]
) -> None:
    found = spread(places, executors)
    given_up = surplus(places, executors)
    for number, (before, after) in enumerate(zip(places, found, strict=True)):
        assert after in executors
        assert after == before or before not in executors or number in given_up
    for host, number in executors.items():
        assert abs(found.count(host) - len(places) * number / sum(executors.values())) < 1 + number
    assert spread(found, executors) == found


def test_each_stage_is_spread_by_itself_and_sources_go_where_there_is_room() -> None:
    two = places_of_stages([[], []], [2, 4], {"a": 1, "b": 1})
    assert two == [["a", "b"], ["a", "b", "a", "b"]]
    three = places_of_stages(two, [2, 4], {"a": 1, "b": 1, "c": 1})
    assert three == [["b", "c"], ["a", "b", "a", "c"]]
    assert places_of_stages(three, [2, 4], {"a": 1, "c": 1}) == [["a", "c"], ["a", "c", "a", "c"]]


@pytest.mark.parametrize("hosts", ["a", "abc"])
def test_a_new_driver_finds_the_same_places(hosts: str) -> None:
    executors = dict.fromkeys(hosts, 2)
    assert places_of_stages([[], []], [3, 7], executors) == places_of_stages([[], []], [3, 7], executors)
    tasks = Counter(host for stage in places_of_stages([[], [], []], [4, 3, 2], executors) for host in stage)
    assert max(tasks.values()) - min(tasks.values()) == 0
