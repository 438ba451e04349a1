"""State per key."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from conformance.one_job import LOCAL, SPARK, collect_each
from penstock.common import Row, Types
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    RuntimeContext,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class RunningSum(KeyedProcessFunction):
    """Emits (key, sum so far) for every record."""

    def __init__(self, amount: Any) -> None:
        self.amount = amount

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[Any, int]]:
        total = (self.total.value() or 0) + self.amount(value)
        self.total.update(total)
        yield ctx.get_current_key(), total


def running_sums(pairs: list[tuple[Any, int]]) -> Counter[tuple[Any, int]]:
    sums: defaultdict[Any, int] = defaultdict(int)
    results: Counter[tuple[Any, int]] = Counter()
    for key, amount in pairs:
        sums[key] += amount
        results[key, sums[key]] += 1
    return results


def payments(count: int, keys: int, seed: int = 1) -> list[tuple[str, int]]:
    generator = random.Random(seed)
    return [(f"k{generator.randrange(keys)}", generator.randrange(-50, 100)) for _ in range(count)]


@pytest.mark.parametrize("parallelism", [1, 2, 3, 7])
def test_a_running_sum_by_a_lambda(env: StreamExecutionEnvironment, parallelism: int) -> None:
    pairs = payments(600, 20)
    env.set_parallelism(parallelism)
    stream = env.from_collection(pairs, PAIR).key_by(lambda p: p[0]).process(RunningSum(lambda p: p[1]), PAIR)
    assert Counter(stream.execute_and_collect()) == running_sums(pairs)


class Payment(NamedTuple):
    card: str
    country: str
    amount: int


@dataclass(frozen=True)
class Transfer:
    card: str
    country: str
    amount: int


ROW_TYPE = Types.ROW_NAMED(["card", "country", "amount"], [Types.STRING(), Types.STRING(), Types.LONG()])
RECORDS = [(f"c{n % 7}", "NL" if n % 3 else "DE", n) for n in range(200)]


BY_FIELD: dict[str, tuple[list[Any], Any, Any]] = {
    "named rows": ([Row(card=card, country=country, amount=n) for card, country, n in RECORDS], ROW_TYPE, "card"),
    "rows": ([Row(*record) for record in RECORDS], ROW_TYPE, "card"),
    "named tuples": ([Payment(*record) for record in RECORDS], None, "card"),
    "dataclasses": ([Transfer(*record) for record in RECORDS], None, "card"),
    "tuples": (RECORDS, None, 0),
    "two fields of tuples": (RECORDS, None, [0, 1]),
    "two fields of dataclasses": ([Transfer(*record) for record in RECORDS], None, ["card", "country"]),
}
"""Records, their type, and the field or fields that are the key. A key of two fields is a tuple."""


def sums_by_field(env: StreamExecutionEnvironment, kind: str) -> DataStream:
    records, type_info, field = BY_FIELD[kind]
    amount = (lambda r: r.amount) if isinstance(records[0], Transfer) else (lambda r: r[2])
    return env.from_collection(records, type_info).key_by(field).process(RunningSum(amount))


def right_sums_by_field(kind: str) -> Counter[tuple[Any, int]]:
    two_fields = isinstance(BY_FIELD[kind][2], list)
    return running_sums([((card, country) if two_fields else card, n) for card, country, n in RECORDS])


@pytest.mark.parametrize("engine_and_mode", LOCAL)
@pytest.mark.parametrize("kind", BY_FIELD)
def test_a_running_sum_by_field(env: StreamExecutionEnvironment, kind: str) -> None:
    assert Counter(sums_by_field(env, kind).execute_and_collect()) == right_sums_by_field(kind)


@pytest.mark.parametrize("engine_and_mode", SPARK)
def test_running_sums_by_fields_on_spark(env: StreamExecutionEnvironment) -> None:
    results = collect_each(env, {kind: sums_by_field(env, kind) for kind in BY_FIELD})
    for kind in BY_FIELD:
        assert Counter(results[kind]) == right_sums_by_field(kind), kind


class FirstField(KeySelector):
    def get_key(self, value: tuple[str, int]) -> str:
        return value[0]


def test_a_key_selector_object(env: StreamExecutionEnvironment) -> None:
    pairs = payments(100, 5)
    stream = env.from_collection(pairs).key_by(FirstField(), Types.STRING()).process(RunningSum(lambda p: p[1]))
    assert Counter(stream.execute_and_collect()) == running_sums(pairs)


KEYS: dict[str, Any] = {
    repr(key)[:12]: key for key in (None, True, -1, 2**70, 1.5, "ü", b"\x00", (1, ("a", None)), 0.0)
}


def sums_of_key(env: StreamExecutionEnvironment, key: Any) -> DataStream:
    return env.from_collection([1, 2, 3]).key_by(lambda _: key).process(RunningSum(lambda n: n))


def check_sums_of_key(key: Any, results: list[Any]) -> None:
    assert sorted(total for _, total in results) == [1, 3, 6]
    assert all(found == key and type(found) is type(key) for found, _ in results)


@pytest.mark.parametrize("engine_and_mode", LOCAL)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_keys_of_many_types_come_back_as_they_were(env: StreamExecutionEnvironment, key: Any) -> None:
    check_sums_of_key(key, list(sums_of_key(env, key).execute_and_collect()))


@pytest.mark.parametrize("engine_and_mode", SPARK)
def test_keys_of_many_types_come_back_from_spark_as_they_were(env: StreamExecutionEnvironment) -> None:
    results = collect_each(env, {name: sums_of_key(env, key) for name, key in KEYS.items()})
    for name, key in KEYS.items():
        check_sums_of_key(key, results[name])


def test_one_key_has_nearly_all_records(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(3)
    pairs = [("hot" if n % 50 else f"cold{n}", 1) for n in range(5_000)]
    stream = env.from_collection(pairs, PAIR).key_by("f0").process(RunningSum(lambda p: p[1]), PAIR)
    assert Counter(stream.execute_and_collect()) == running_sums(pairs)


def test_records_of_a_parallel_source_meet_by_key(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(3)
    stream = env.from_sequence(0, 2_999).map(lambda n: n % 10).key_by(lambda n: n).process(RunningSum(lambda _: 1))
    assert Counter(stream.execute_and_collect()) == Counter((k, n) for k in range(10) for n in range(1, 301))


def test_two_keyed_operators_in_a_row(env: StreamExecutionEnvironment) -> None:
    pairs = payments(300, 12)
    stream = (
        env.from_collection(pairs, PAIR)
        .key_by(lambda p: p[0])
        .process(RunningSum(lambda _: 1), PAIR)
        .key_by(lambda p: p[1] % 3)
        .process(RunningSum(lambda _: 1))
    )
    counts = Counter(total % 3 for _, total in running_sums([(key, 1) for key, _ in pairs]).elements())
    expected = Counter((group, n) for group, count in counts.items() for n in range(1, count + 1))
    assert Counter(stream.execute_and_collect()) == expected


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class EveryKindOfState(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.STRING(), Types.LONG()))
        self.greatest = runtime_context.get_reducing_state(ReducingStateDescriptor("greatest", max, Types.LONG()))
        self.average = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("average", Average(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        amount = value[1]
        sign = "minus" if amount < 0 else "plus"
        self.seen.add(amount)
        self.counts.put(sign, (self.counts.get(sign) or 0) + 1)
        self.greatest.add(amount)
        self.average.add(amount)
        yield (
            value[0],
            self.last.value(),
            tuple(self.seen.get()),
            tuple(sorted(self.counts.items())),
            self.greatest.get(),
            self.average.get(),
        )
        self.last.update(amount)
        if amount % 10 == 0:
            self.seen.clear()
            self.last.clear()


def test_every_kind_of_state(env: StreamExecutionEnvironment) -> None:
    pairs = payments(120, 4)
    expected: Counter[Any] = Counter()
    by_key: defaultdict[str, dict[str, Any]] = defaultdict(
        lambda: {"last": None, "seen": [], "counts": Counter(), "all": []}
    )
    for key, amount in pairs:
        state = by_key[key]
        state["seen"].append(amount)
        state["all"].append(amount)
        state["counts"]["minus" if amount < 0 else "plus"] += 1
        average = sum(state["all"]) / len(state["all"])
        seen, counts = tuple(state["seen"]), tuple(sorted(state["counts"].items()))
        expected[key, state["last"], seen, counts, max(state["all"]), average] += 1
        state["last"] = amount
        if amount % 10 == 0:
            state["seen"], state["last"] = [], None
    stream = env.from_collection(pairs, PAIR).key_by("f0").process(EveryKindOfState())
    assert Counter(stream.execute_and_collect()) == expected


class NumberedMap(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value: int) -> tuple[int, int]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return value, count


class NumberedFlatMap(NumberedMap, FlatMapFunction):
    def flat_map(self, value: int) -> list[tuple[int, int]]:
        return [self.map(value)]


class FirstOnly(NumberedMap, FilterFunction):
    def filter(self, value: int) -> bool:
        return self.map(value)[1] == 1


NUMBERS = [1, 2, 1, 1, 3, 2]


def test_map_flat_map_and_filter_have_state_on_keyed_streams(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection(NUMBERS).key_by(lambda n: n)
    numbered = Counter([(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)])
    assert Counter(keyed.map(NumberedMap()).execute_and_collect()) == numbered


def test_flat_map_has_state_on_keyed_streams(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection(NUMBERS).key_by(lambda n: n)
    numbered = Counter([(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)])
    assert Counter(keyed.flat_map(NumberedFlatMap()).execute_and_collect()) == numbered


def test_filter_has_state_on_keyed_streams(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection(NUMBERS).key_by(lambda n: n)
    assert sorted(keyed.filter(FirstOnly()).execute_and_collect()) == [1, 2, 3]


def test_a_keyed_stream_can_go_straight_into_a_union(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection(NUMBERS).key_by(lambda n: n)
    assert Counter(keyed.union(env.from_collection([9])).execute_and_collect()) == Counter([*NUMBERS, 9])
