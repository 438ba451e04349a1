"""Where records go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import MapFunction, Partitioner, RuntimeContext


class WithSubtask(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> tuple[int, Any]:
        return self.subtask, value


def placed(stream: DataStream, parallelism: int) -> list[tuple[int, Any]]:
    return list(stream.map(WithSubtask()).set_parallelism(parallelism).execute_and_collect())


@pytest.mark.parametrize(
    "partition",
    [DataStream.rebalance, DataStream.rescale, DataStream.shuffle, DataStream.global_],
    ids=lambda method: method.__name__,
)
def test_nothing_is_lost_or_doubled(
    env: StreamExecutionEnvironment, partition: Callable[[DataStream], DataStream]
) -> None:
    results = placed(partition(env.from_sequence(1, 300)), 3)
    assert Counter(value for _, value in results) == Counter(range(1, 301))


def test_rebalance_spreads_evenly(env: StreamExecutionEnvironment) -> None:
    counts = Counter(subtask for subtask, _ in placed(env.from_collection(list(range(90))).rebalance(), 3))
    assert counts == {0: 30, 1: 30, 2: 30}


def test_rescale_keeps_the_shares_of_two_senders_apart(env: StreamExecutionEnvironment) -> None:
    numbered = env.from_sequence(1, 200).set_parallelism(2).map(WithSubtask()).set_parallelism(2)
    results = placed(numbered.rescale(), 4)
    assert {sender: {receiver for receiver, (s, _) in results if s == sender} for sender in (0, 1)} == {
        0: {0, 1},
        1: {2, 3},
    }


def test_shuffle_uses_all_subtasks(env: StreamExecutionEnvironment) -> None:
    assert {subtask for subtask, _ in placed(env.from_collection(list(range(300))).shuffle(), 3)} == {0, 1, 2}


def test_global_uses_the_first_subtask(env: StreamExecutionEnvironment) -> None:
    assert {subtask for subtask, _ in placed(env.from_sequence(1, 50).global_(), 3)} == {0}


def test_broadcast_sends_every_record_to_all(env: StreamExecutionEnvironment) -> None:
    results = placed(env.from_collection([5, 6]).broadcast(), 3)
    assert Counter(results) == Counter((subtask, value) for subtask in range(3) for value in (5, 6))


def test_forward_keeps_records_in_their_subtask(env: StreamExecutionEnvironment) -> None:
    results = placed(env.from_collection(list(range(40))).rebalance().map(WithSubtask()).forward(), 2)
    assert all(before == after for after, (before, _) in results)


class Modulo(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


@pytest.mark.parametrize("partitioner", [Modulo(), lambda key, n: key % n], ids=["object", "lambda"])
def test_partition_custom_asks_the_partitioner(env: StreamExecutionEnvironment, partitioner: Any) -> None:
    results = placed(
        env.from_collection([(n, "x") for n in range(30)]).partition_custom(partitioner, lambda r: r[0]), 3
    )
    assert Counter(results) == Counter((n % 3, (n, "x")) for n in range(30))


def test_records_of_one_key_meet_in_one_subtask(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(3)
    results = list(env.from_sequence(0, 299).key_by(lambda n: n % 20).map(WithSubtask()).execute_and_collect())
    assert Counter(value for _, value in results) == Counter(range(300))
    places = {key: {subtask for subtask, value in results if value % 20 == key} for key in range(20)}
    assert all(len(subtasks) == 1 for subtasks in places.values())
    assert len(set().union(*places.values())) > 1
