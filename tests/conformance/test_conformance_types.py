"""What kinds of records travel, and that they come back as they were."""

from __future__ import annotations

import datetime
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conformance.one_job import LOCAL, SPARK, collect_each
from penstock.common import Row, Types
from penstock.datastream import DataStream, StreamExecutionEnvironment
from services.python_process import run_python


class Point(NamedTuple):
    x: int
    y: float
    label: str | None


@dataclass(frozen=True)
class Order:
    number: int
    items: list[str]
    paid: bool

    def __hash__(self) -> int:
        return hash((self.number, tuple(self.items), self.paid))


class Opaque:
    """A class that says nothing about its fields."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other.content == self.content

    def __hash__(self) -> int:
        return hash(repr(self.content))


def shuffled_twice(env: StreamExecutionEnvironment, records: list[Any], type_info: Any = None) -> DataStream:
    """The records after two exchanges and an identity function of the same type."""
    stream = env.from_collection(records, type_info)
    return stream.rebalance().map(lambda r: r, output_type=stream.get_type()).rebalance()


KINDS: dict[str, list[Any]] = {
    "integers of 64 bits": [1, -(2**63), 2**63 - 1],
    "greater integers": [2**100, 1],
    "floats": [1.5, float("inf"), -0.0],
    "text": ["", "ü\x00", "a" * 5000],
    "booleans": [True, False],
    "nothing, at times": [None, 1, None],
    "tuples": [(1, "a"), (2, None)],
    "tuples in tuples": [(1, ("x", 2.5)), (2, ("y", 3.5))],
    "named tuples": [Point(1, 2.0, "p"), Point(-1, 0.5, None)],
    "dataclasses": [Order(1, ["a", "b"], True), Order(2, [], False)],
    "any objects": [Opaque({"a": [1]}), Opaque(None)],
    "a mixture": [1, "two", 3.0, None, (4,)],
    "decimals": [Decimal("1.10"), Decimal("-3")],
    "times": [datetime.datetime(2024, 2, 29, 12, 30, 1, 999), datetime.datetime(1969, 1, 1)],
    "bytes": [b"\x00\xff", b""],
    "sets": [frozenset({1, 2})],
}


def check_kind(kind: str, results: list[Any]) -> None:
    records = KINDS[kind]
    same = Counter(map(repr, results)) == Counter(map(repr, records)) or Counter(results) == Counter(records)
    assert same, f"{kind}: {results}"
    assert Counter(map(type, results)) == Counter(map(type, records)), kind


@pytest.mark.parametrize("engine_and_mode", LOCAL)
@pytest.mark.parametrize("kind", KINDS)
def test_records_come_back_as_they_were(env: StreamExecutionEnvironment, kind: str) -> None:
    check_kind(kind, list(shuffled_twice(env, KINDS[kind]).execute_and_collect()))


NAMED_ROW = Types.ROW_NAMED(["id", "tags"], [Types.INT(), Types.MAP(Types.STRING(), Types.LONG())])
ROWS = [Row(1, {"a": 1}), Row(id=2, tags={})]
FLOATS = Types.TUPLE([Types.FLOAT(), Types.DOUBLE()])


def check_rows(results: list[Any]) -> None:
    assert sorted((row.id, row["tags"]) for row in results) == [(1, {"a": 1}), (2, {})]


@pytest.mark.parametrize("engine_and_mode", LOCAL)
def test_rows_of_a_declared_type_have_its_names(env: StreamExecutionEnvironment) -> None:
    check_rows(list(shuffled_twice(env, ROWS, NAMED_ROW).execute_and_collect()))


@pytest.mark.parametrize("engine_and_mode", LOCAL)
def test_a_float_of_32_bits_is_rounded(env: StreamExecutionEnvironment) -> None:
    results = shuffled_twice(env, [(0.123456789, 0.123456789)], FLOATS).execute_and_collect()
    assert list(results) == [(0.12345679, 0.123456789)]


@pytest.mark.parametrize("engine_and_mode", SPARK)
def test_records_of_every_kind_come_back_from_spark_as_they_were(env: StreamExecutionEnvironment) -> None:
    streams = {kind: shuffled_twice(env, records) for kind, records in KINDS.items()}
    streams["rows"] = shuffled_twice(env, ROWS, NAMED_ROW)
    streams["rounded"] = shuffled_twice(env, [(0.123456789, 0.123456789)], FLOATS)
    results = collect_each(env, streams)
    for kind in KINDS:
        check_kind(kind, results[kind])
    check_rows(results["rows"])
    assert results["rounded"] == [(0.12345679, 0.123456789)]


def make_order(n: int) -> Order:
    return Order(n, [str(n)] * (n % 3), n % 2 == 0)


def split_order(order: Order) -> Iterator[Point]:
    for item in order.items:
        yield Point(order.number, order.number / 2, item)


def test_types_come_from_annotations(env: StreamExecutionEnvironment) -> None:
    orders = env.from_sequence(1, 50).map(make_order)
    points = orders.flat_map(split_order)
    assert not orders.get_type().is_pickled
    assert not points.get_type().is_pickled
    labels = points.key_by("label").map(lambda p: (p.label, p.x))
    expected = Counter((str(n), n) for n in range(1, 51) for _ in range(n % 3))
    assert Counter(labels.execute_and_collect()) == expected


MAIN_PROGRAM = """
    import sys
    from collections import Counter
    from dataclasses import dataclass
    from penstock.common import Configuration
    from penstock.datastream import StreamExecutionEnvironment

    @dataclass
    class Item:
        name: str
        price: int

    class Basket:
        def __init__(self, items):
            self.items = items

        def total(self):
            return sum(item.price for item in self.items)

    FACTOR = 3

    def fill(n: int):
        return Basket([Item(f"i{k}", k * FACTOR) for k in range(n)])

    if __name__ == "__main__":
        configuration = Configuration()
        configuration.set_string("execution.engine", sys.argv[1])
        configuration.set_string("execution.runtime-mode", sys.argv[2])
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(2)
        baskets = env.from_collection(list(range(6))).map(fill).rebalance()
        totals = baskets.key_by(lambda b: len(b.items)).map(lambda b: (len(b.items), b.total()))
        print("RESULT", sorted(totals.execute_and_collect()))
"""


@pytest.mark.parametrize(
    "engine_and_mode",
    [
        pytest.param(("local", "BATCH"), id="local-batch"),
        pytest.param(("spark", "STREAMING"), id="spark-streaming", marks=pytest.mark.spark),
    ],
)
def test_classes_and_functions_of_the_main_program(engine_and_mode: tuple[str, str], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(MAIN_PROGRAM))
    if engine_and_mode[0] == "local":
        run = run_python(program, *engine_and_mode)
    else:
        command = [sys.executable, program, *engine_and_mode]
        run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=180)
    assert run.returncode == 0, run.stderr
    expected = sorted((n, sum(k * 3 for k in range(n))) for n in range(6))
    assert f"RESULT {expected}" in run.stdout
