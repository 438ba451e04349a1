from __future__ import annotations

import enum
import functools
from collections import namedtuple
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, NewType, Optional

import pytest

from penstock.common.codecs import codec_for
from penstock.common.row import Row
from penstock.common.time import Instant
from penstock.common.type_inference import infer_type, infer_type_of_values, return_type_of
from penstock.common.typeinfo import DataclassTypeInfo, NamedTupleTypeInfo, Types, VariadicTupleTypeInfo

PICKLED = Types.PICKLED_BYTE_ARRAY()
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
UserId = NewType("UserId", int)
Untyped = namedtuple("Untyped", ["a"])


class Color(enum.Enum):
    RED = 1


@dataclass
class Address:
    city: str
    zip: int | None


@dataclass
class Person:
    kind: ClassVar[str] = "person"
    name: str
    weight: Annotated[float, Types.FLOAT()]
    address: Address | None
    anything: Any


class Point(NamedTuple):
    x: float
    tags: list[str]


@dataclass
class Tree:
    value: int
    children: list[Tree]


@dataclass
class Shape:
    name: str


@dataclass
class Circle(Shape):
    radius: float


@dataclass
class Doubled:
    a: int

    def __post_init__(self) -> None:
        self.a *= 2


@dataclass
class Unknown:
    a: NotThere  # type: ignore[name-defined] # noqa: F821


ADDRESS = DataclassTypeInfo(Address, ["city", "zip"], [Types.STRING(), Types.LONG()])


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, Types.LONG()),
        (float, Types.DOUBLE()),
        (str, Types.STRING()),
        (bool, Types.BOOLEAN()),
        (bytes, BYTES),
        (Decimal, Types.BIG_DEC()),
        (date, Types.SQL_DATE()),
        (time, Types.SQL_TIME()),
        (datetime, Types.SQL_TIMESTAMP()),
        (Instant, Types.INSTANT()),
        (list[int], Types.LIST(Types.LONG())),
        (dict[str, list[float]], Types.MAP(Types.STRING(), Types.LIST(Types.DOUBLE()))),
        (tuple[int, str], Types.TUPLE([Types.LONG(), Types.STRING()])),
        (tuple[int, Any], Types.TUPLE([Types.LONG(), PICKLED])),
        (tuple[int, ...], VariadicTupleTypeInfo(Types.LONG())),
        (Optional[int], Types.LONG()),  # noqa: UP045 (the older spelling is what is tested)
        (int | None, Types.LONG()),
        (UserId, Types.LONG()),
        (Annotated[int, "a comment"], Types.LONG()),
        (Annotated[int, Types.INT()], Types.INT()),
        (Literal["a", "b"], Types.STRING()),
        (Types.SHORT(), Types.SHORT()),
        (Address, ADDRESS),
        (Point, NamedTupleTypeInfo(Point, ["x", "tags"], [Types.DOUBLE(), Types.LIST(Types.STRING())])),
        (Tree, DataclassTypeInfo(Tree, ["value", "children"], [Types.LONG(), PICKLED])),
        (Circle, DataclassTypeInfo(Circle, ["name", "radius"], [Types.STRING(), Types.DOUBLE()])),
        (
            Person,
            DataclassTypeInfo(
                Person,
                ["name", "weight", "address", "anything"],
                [Types.STRING(), Types.FLOAT(), ADDRESS, PICKLED],
            ),
        ),
    ],
)
def test_types_of_annotations(annotation: Any, expected: Any) -> None:
    assert infer_type(annotation) == expected


@pytest.mark.parametrize(
    "annotation",
    [
        Any,
        object,
        None,
        int | str,
        list,
        list[Any],
        dict,
        dict[str, object],
        tuple,
        tuple[()],
        set[int],
        Iterable[int],
        Row,
        Color,
        Literal[1, "a"],
        Untyped,
        Shape,  # has a subclass: values may be circles
        Doubled,
        Unknown,
        "a string",
    ],
)
def test_what_is_not_understood_is_pickled(annotation: Any) -> None:
    assert infer_type(annotation).is_pickled


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        ([1, 2], Types.LONG()),
        ([1, None], Types.LONG()),
        ([1.5], Types.DOUBLE()),
        ([True], Types.BOOLEAN()),
        (["a"], Types.STRING()),
        ([b"a"], BYTES),
        ([Decimal("1.5")], Types.BIG_DEC()),
        ([datetime(2020, 1, 1)], Types.SQL_TIMESTAMP()),
        ([(1, "a"), (2, None)], Types.TUPLE([Types.LONG(), Types.STRING()])),
        ([(1, ("a", 2.0))], Types.TUPLE([Types.LONG(), Types.TUPLE([Types.STRING(), Types.DOUBLE()])])),
        ([[1], [], None], Types.LIST(Types.LONG())),
        ([{"a": [1]}, {}], Types.MAP(Types.STRING(), Types.LIST(Types.LONG()))),
        ([Address("Oslo", None)], ADDRESS),
    ],
)
def test_types_of_example_data(examples: list[Any], expected: Any) -> None:
    assert infer_type_of_values(examples) == expected
    codec = codec_for(expected)
    assert codec.to_values(codec.to_columns(examples)) == examples


@pytest.mark.parametrize(
    "examples",
    [
        [],
        [None],
        [[]],
        [1, "a"],
        [1, 1.5],
        [1, True],
        [2**63],
        [("a", 1), ("b",)],
        [(1, 2), (1, 2.5)],
        [(1, 2), None],
        [(1, None)],
        [()],
        ["\ud800"],
        [Decimal("NaN")],
        [datetime(2020, 1, 1, tzinfo=UTC)],
        [datetime(2020, 1, 1, fold=1)],
        [date(2020, 1, 1), datetime(2020, 1, 1)],
        [{1, 2}],
        [{None: 1}],
        [{"a": 1, "b": "c"}],
        [Row(a=1)],
        [Untyped(1)],
        [object()],
        [Circle("c", 1.0), Shape("s")],
        [Doubled(1)],
    ],
)
def test_example_data_that_would_not_come_back_the_same_is_pickled(examples: list[Any]) -> None:
    assert infer_type_of_values(examples).is_pickled


class Mapper:
    def map(self, value: str) -> int:
        return len(value)


class Callable:
    def __call__(self, value: str) -> list[str]:
        return [value]


class TwoInputs:
    def map1(self, value: Any) -> int: ...  # type: ignore[empty-body]
    def map2(self, value: Any) -> str: ...  # type: ignore[empty-body]


def length(text: str, base: int) -> int:
    return len(text) + base


def words(text: str) -> Iterator[str]:
    yield from text.split()


def pairs(text: str) -> Generator[tuple[str, int], None, None]:
    yield text, 1


def nothing(text: str) -> None: ...


def broken(text: str) -> NotThere: ...  # type: ignore[name-defined] # noqa: F821


PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


@pytest.mark.parametrize(
    ("function", "options", "expected"),
    [
        (length, {}, Types.LONG()),
        (functools.partial(length, base=1), {}, Types.LONG()),
        (Mapper(), {}, Types.LONG()),
        (Mapper().map, {}, Types.LONG()),
        (TwoInputs(), {"method": "map2"}, Types.STRING()),
        (Callable(), {}, Types.LIST(Types.STRING())),
        (Callable(), {"unwrap_iterable": True}, Types.STRING()),
        (words, {"unwrap_iterable": True}, Types.STRING()),
        (pairs, {"unwrap_iterable": True}, PAIR),
        (words, {}, PICKLED),
        (Address, {}, ADDRESS),
        (str, {}, Types.STRING()),
        (int, {}, None),
        (lambda text: text, {}, None),
        (len, {}, None),
        (nothing, {}, None),
        (broken, {}, None),
        (length, {"unwrap_iterable": True}, None),
        (object(), {}, None),
    ],
)
def test_return_types(function: Any, options: dict[str, Any], expected: Any) -> None:
    assert return_type_of(function, **options) == expected
