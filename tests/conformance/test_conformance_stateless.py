"""Functions of one record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
)

LINES = ["to be or not to be", "", "that is the question", "to  be"]


def test_a_chain_of_map_filter_and_flat_map(env: StreamExecutionEnvironment) -> None:
    stream = (
        env.from_collection(LINES)
        .flat_map(lambda line: line.split(), output_type=Types.STRING())
        .filter(lambda word: word != "to")
        .map(lambda word: (word, len(word)), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
    )
    expected = Counter((word, len(word)) for line in LINES for word in line.split() if word != "to")
    assert Counter(stream.execute_and_collect()) == expected


def test_the_order_of_a_single_chain_is_kept(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    stream = env.from_collection(list(range(1000))).map(lambda n: n * 3).filter(lambda n: n % 2 == 0)
    assert list(stream.execute_and_collect()) == [n * 3 for n in range(1000) if n % 2 == 0]


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
def test_parallelism_does_not_change_the_records(env: StreamExecutionEnvironment, parallelism: int) -> None:
    env.set_parallelism(parallelism)
    stream = env.from_sequence(1, 2_000).map(lambda n: n % 17).filter(lambda n: n != 3)
    assert Counter(stream.execute_and_collect()) == Counter(n % 17 for n in range(1, 2_001) if n % 17 != 3)


def test_operators_of_different_parallelism(env: StreamExecutionEnvironment) -> None:
    stream = (
        env.from_sequence(1, 500)
        .set_parallelism(3)
        .map(lambda n: n + 1)
        .set_parallelism(1)
        .map(lambda n: n * 2)
        .set_parallelism(4)
    )
    assert Counter(stream.execute_and_collect()) == Counter((n + 1) * 2 for n in range(1, 501))


@pytest.mark.parametrize("type_info", [None, Types.INT(), Types.ROW([Types.INT()])], ids=repr)
def test_empty_input(env: StreamExecutionEnvironment, type_info: object) -> None:
    stream = env.from_collection([], type_info).map(lambda n: n).rebalance().filter(lambda n: True)
    assert list(stream.execute_and_collect()) == []


def test_a_filter_that_drops_everything(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(1, 100).filter(lambda n: n > 100).map(lambda n: 1 // 0)
    assert list(stream.execute_and_collect()) == []


class AddOffset(MapFunction):
    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.is_open = False

    def open(self, runtime_context: RuntimeContext) -> None:
        assert 0 <= runtime_context.get_index_of_this_subtask() < runtime_context.get_number_of_parallel_subtasks()
        self.is_open = True

    def map(self, value: int) -> int:
        assert self.is_open
        return value + self.offset


class Repeat(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[int]:
        for _ in range(value % 3):
            yield value


class Even(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 0


class Tagged(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[str]:
        yield f"a{value}"
        if value % 4 == 0:
            yield f"b{value}"


def test_functions_as_objects(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(0, 99).map(AddOffset(1000)).flat_map(Repeat()).filter(Even()).process(Tagged())
    numbers = [n + 1000 for n in range(100) for _ in range((n + 1000) % 3) if n % 2 == 0]
    expected = Counter(f"a{n}" for n in numbers) + Counter(f"b{n}" for n in numbers if n % 4 == 0)
    assert Counter(stream.execute_and_collect()) == expected


def test_a_flat_map_that_returns_nothing_emits_nothing(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(1, 6).flat_map(lambda n: [n, -n] if n % 2 else None)
    assert Counter(stream.execute_and_collect()) == Counter([1, -1, 3, -3, 5, -5])


def test_one_environment_runs_several_jobs(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1, 2, 3])
    assert sorted(numbers.map(lambda n: n + 1).execute_and_collect()) == [2, 3, 4]
    env.configuration.remove_config("execution.checkpointing.dir")
    assert sorted(numbers.map(lambda n: n * 10).execute_and_collect()) == [10, 20, 30]


def test_a_limit_ends_the_collection(env: StreamExecutionEnvironment) -> None:
    assert len(env.from_sequence(1, 10_000).execute_and_collect(limit=7)) == 7
