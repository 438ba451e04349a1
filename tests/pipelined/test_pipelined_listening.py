"""Silence in later stages: what waits in line behind other work is not silent, and what sends nothing is."""

from __future__ import annotations

import pytest

from penstock.common import WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.engine.pipelined.listening import Listening
from pipelined import list_source
from pipelined.list_source import PAIRS, ListSource, Records, timed
from pipelined.local_pipelined import environment

COUNT = 100
KEYS = ("a", "b")
TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: 1000 * pair[1])
Pair = tuple[str, int]


def slow(pair: Pair) -> Pair:
    list_source.time.sleep(0.05)
    return pair


def pieces_of_work(env: StreamExecutionEnvironment) -> DataStream:
    """Records of ten sources keep one task of the next stage busy, each for less than a tenth of a second."""
    splits = [timed([("work", number) for number in range(COUNT)]) for _ in range(2)]
    source = ListSource(*splits, record_type=PAIRS, per_epoch=COUNT, per_poll=1)
    first, *others = [env.from_source(source, None, f"work-{number}") for number in range(10)]
    return first.union(*others).key_by(lambda pair: "one task").map(slow, PAIRS).filter(lambda pair: False)


def windows_of(env: StreamExecutionEnvironment, *splits: Records, idleness: str) -> DataStream:
    """One for each record; each key has a task of its own, which makes the watermarks."""
    source = ListSource(*splits, record_type=PAIRS, per_epoch=3 * COUNT, per_poll=1)
    return (
        env.from_source(source, None, "pairs")
        .partition_custom(lambda key, tasks: KEYS.index(key) % tasks, lambda pair: pair[0])
        .assign_timestamps_and_watermarks(TIMES.with_idleness(idleness))
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(1000))
        .reduce(lambda left, right: left)
    )


@pytest.mark.usefixtures("virtual_time")
def test_nothing_is_too_late_because_it_has_waited_for_the_work_of_another_operator() -> None:
    env = environment("pipelined", execution__pipelined__epoch="1 h")
    records = [[(key, number) for number in range(COUNT)] for key in KEYS]
    windows = windows_of(env, *map(timed, records), idleness="300 ms")
    with windows.union(pieces_of_work(env)).execute_and_collect() as results:
        assert sorted(results) == sorted(pair for of_key in records for pair in of_key)


@pytest.mark.usefixtures("virtual_time")
def test_a_task_that_nothing_comes_to_is_idle() -> None:
    env = environment("pipelined", execution__pipelined__epoch="1 h")
    meanwhile = [("a", number) for number in range(2 * COUNT)]
    windows = windows_of(env, timed([("b", 0), *meanwhile, ("b", 1)]), idleness="50 ms")
    with windows.execute_and_collect() as results:
        assert sorted(results) == [*meanwhile, ("b", 0)], "the last record is too late"


def test_a_task_listens_as_time_passes_where_it_keeps_up() -> None:
    listening = Listening(2, now=1000)
    missed = 0
    for ms in range(50, 1050, 50):
        # The second sender comes late, and not evenly.
        listening.tick(0, ms)
        missed += listening.missed(1000 + ms)
        listening.tick(1, ms)
        missed += listening.missed(1000 + ms + ms % 40)
    assert missed <= 50
    assert listening.ms >= 950


def test_it_does_not_while_rows_wait_for_it() -> None:
    listening = Listening(2, now=0)
    for number in range(1, 101):
        # It takes half a second to work on what each of them has sent in 50 ms.
        for sender in range(2):
            listening.tick(sender, 50 * number)
            listening.missed(500 * number + 250 * sender)
    assert listening.ms <= 5000


def test_it_does_not_hurry_when_a_sender_that_was_behind_catches_up_or_ends() -> None:
    listening = Listening(3, now=0)
    for sender, ms in (0, 10_000), (1, 20_000), (2, 30):
        listening.tick(sender, ms)
    assert listening.missed(50) == 20
    listening.ended(2)
    listening.missed(5_050)
    assert listening.ms <= 200, "what it has worked on for five seconds may have kept others waiting"
    listening.missed(5_060)
    listening.tick(0, 20_000)
    listening.missed(5_070)
    assert listening.ms <= 200


def test_nothing_is_heard_in_stages_behind_one_that_does_not_listen() -> None:
    first, second = Listening(1, now=0), Listening(1, now=0)
    for number in range(1, 101):
        first.tick(0, 50 * number)
        first.missed(500 * number)
        second.tick(0, first.ms)
        second.missed(500 * number)
    assert second.ms <= 5000
