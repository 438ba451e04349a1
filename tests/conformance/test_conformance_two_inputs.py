"""Union and connect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor


def test_a_union_of_three(env: StreamExecutionEnvironment) -> None:
    first = env.from_collection([1, 2, 3])
    second = env.from_sequence(10, 40).map(lambda n: -n)
    third = env.from_collection([2, 2]).rebalance()
    union = first.union(second, third)
    assert Counter(union.map(lambda n: n * 2).execute_and_collect()) == Counter(
        [2, 4, 6, 4, 4, *(-2 * n for n in range(10, 41))]
    )


def test_a_union_with_itself_has_every_record_twice(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(1, 50)
    assert Counter(stream.union(stream).execute_and_collect()) == Counter([*range(1, 51), *range(1, 51)])


def test_a_union_of_two_types_holds_both(env: StreamExecutionEnvironment) -> None:
    union = env.from_collection([1, 2]).union(env.from_collection(["a"]))
    assert Counter(union.map(repr).execute_and_collect()) == Counter(["1", "2", "'a'"])


def test_a_keyed_operator_over_a_union(env: StreamExecutionEnvironment, mode: str) -> None:
    union = env.from_collection([1, 1, 2]).union(env.from_collection([2, 1]))
    counts = union.map(lambda n: (n, 1)).key_by(lambda p: p[0]).sum(1)
    updates = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
    assert Counter(counts.execute_and_collect()) == Counter([(1, 3), (2, 2)] if mode == "BATCH" else updates)


class Label(CoMapFunction):
    def map1(self, value: int) -> str:
        return f"number {value}"

    def map2(self, value: str) -> str | None:
        return None if value == "skip" else f"word {value}"


def test_a_co_map(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1, 2]).connect(env.from_collection(["a", "skip"])).map(Label())
    assert Counter(stream.execute_and_collect()) == Counter(["number 1", "number 2", "word a"])


class Spread(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Iterator[str]:
        yield from (str(value) for _ in range(value))

    def flat_map2(self, value: str) -> list[str]:
        return list(value)


def test_a_co_flat_map(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([0, 2]).connect(env.from_collection(["ab"])).flat_map(Spread(), Types.STRING())
    assert Counter(stream.execute_and_collect()) == Counter(["2", "2", "a", "b"])


class Both(CoProcessFunction):
    def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[tuple[int, int]]:
        yield 1, value

    def process_element2(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[tuple[int, int]]:
        yield 2, value


def test_a_co_process_without_keys(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(1, 100).connect(env.from_sequence(101, 150)).process(Both())
    expected = [(1, n) for n in range(1, 101)] + [(2, n) for n in range(101, 151)]
    assert Counter(stream.execute_and_collect()) == Counter(expected)


class Join(KeyedCoProcessFunction):
    """Emits every pair of an order and a name with the same key, whichever comes first."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.LONG()))

    def process_element1(self, value: tuple[int, int], ctx: Any) -> Iterator[tuple[str, int]]:
        name = self.name.value()
        if name is None:
            self.waiting.add(value[1])
        else:
            yield name, value[1]

    def process_element2(self, value: tuple[int, str], ctx: Any) -> Iterator[tuple[str, int]]:
        assert ctx.get_current_key() in (value[0], Row(f0=value[0]))
        self.name.update(value[1])
        for amount in self.waiting.get():
            yield value[1], amount
        self.waiting.clear()


ORDERS = [(n % 5, n) for n in range(60)]
NAMES = [(0, "ada"), (1, "bob"), (3, "cyd"), (9, "eve")]
JOINED = Counter((name, amount) for key, name in NAMES for other, amount in ORDERS if key == other)


def test_a_join_of_two_keyed_streams(env: StreamExecutionEnvironment) -> None:
    orders = env.from_collection(ORDERS).key_by(lambda o: o[0])
    names = env.from_collection(NAMES).key_by(0)
    assert Counter(orders.connect(names).process(Join()).execute_and_collect()) == JOINED


def test_keys_given_after_connect(env: StreamExecutionEnvironment) -> None:
    connected = env.from_collection(ORDERS).connect(env.from_collection(NAMES)).key_by(lambda o: o[0], lambda n: n[0])
    assert Counter(connected.process(Join()).execute_and_collect()) == JOINED


def test_a_type_of_keys_that_one_stream_declares_is_that_of_both(env: StreamExecutionEnvironment) -> None:
    orders = env.from_collection(ORDERS).key_by(lambda o: Row(o[0]), key_type=Types.ROW([Types.LONG()]))
    names = env.from_collection(NAMES).key_by(lambda n: Row(n[0]))
    assert Counter(orders.connect(names).process(Join()).execute_and_collect()) == JOINED
