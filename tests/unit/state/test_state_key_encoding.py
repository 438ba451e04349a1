from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock.common.errors import KeyEncodingError
from penstock.common.row import Row, RowKind
from penstock.common.time import Instant
from penstock.state import key_encoding
from penstock.state.key_encoding import decode_key, encode_column, encode_key, register_key_class


class Color(Enum):
    RED = 1
    GREEN = 2


class Level(IntEnum):
    LOW = 1


class Right(Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Account:
    bank: str
    number: int
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        assert self.number >= 0


for cls in (Color, Level, Point, Account):
    # The name of this module depends on how the test was started; the vectors below do not.
    cls.__module__ = "golden"
    register_key_class(cls)

CET = dt.timezone(dt.timedelta(hours=1))

GOLDEN: list[tuple[Any, str]] = [
    (None, "00"),
    (False, "01"),
    (True, "02"),
    (0, "038000000000000000"),
    (-1, "037fffffffffffffff"),
    (42, "03800000000000002a"),
    (2**63 - 1, "03ffffffffffffffff"),
    (-(2**63), "030000000000000000"),
    (2**63, "0400000009008000000000000000"),
    (-(2**63) - 1, "0400000009ff7fffffffffffffff"),
    (0.0, "050000000000000000"),
    (1.5, "053ff8000000000000"),
    (-math.inf, "05fff0000000000000"),
    (Decimal("1"), "0600000003314530"),
    (Decimal("0"), "0600000003304530"),
    (Decimal("-12000"), "06000000052d31324533"),
    (Decimal("Infinity"), "0600000008496e66696e697479"),
    ("", "0700000000"),
    ("a", "070000000161"),
    ("né€", "07000000066ec3a9e282ac"),
    (b"", "0800000000"),
    (b"\x00a", "08000000020061"),
    (dt.date(1970, 1, 1), "09000af93b"),
    (dt.time(12, 30, 1, 5), "0a0000000a7a44c445"),
    (dt.datetime(1970, 1, 1, 0, 0, 0, 1), "0b8000000000000001"),
    (dt.datetime(1970, 1, 1, 1, tzinfo=CET), "0c8000000000000000"),
    (dt.timedelta(seconds=-1), "13037ffffffffff0bdc0"),
    ((), "0d00000000"),
    ((1, "a"), "0d00000002038000000000000001070000000161"),
    (((), None), "0d000000020d0000000000"),
    (Account("b", 1), "0e0000000e676f6c64656e3a4163636f756e74000000030700000001620380000000000000010700000000"),
    (Point(1, 2), "0f0000000c676f6c64656e3a506f696e7400000002038000000000000001038000000000000002"),
    (Color.RED, "100000000c676f6c64656e3a436f6c6f7200000003524544"),
    (Level.LOW, "100000000c676f6c64656e3a4c6576656c000000034c4f57"),
    (Row(1, "a"), "11000000000002038000000000000001070000000161"),
    (Row(a=1), "110001000000010000000161038000000000000001"),
    (Row.of_kind(RowKind.DELETE, 1), "11030000000001038000000000000001"),
    (Instant(1, 2), "12800000000000000100000002"),
    (UUID(int=5), "1400000000000000000000000000000005"),
]


@pytest.mark.parametrize(("value", "encoded"), GOLDEN, ids=[repr(value) for value, _ in GOLDEN])
def test_golden_vector(value: Any, encoded: str) -> None:
    assert encode_key(value).hex() == encoded
    decoded = decode_key(bytes.fromhex(encoded))
    assert decoded == value
    assert type(decoded) is type(value)


@pytest.mark.parametrize(
    "same",
    [
        (0.0, -0.0),
        (math.nan, -math.nan, np.float32("nan")),
        (Decimal("1"), Decimal("1.0"), Decimal("1.00"), Decimal("0.1E1")),
        (Decimal("0"), Decimal("-0.00"), Decimal("0E5")),
        (Decimal("NaN"), Decimal("-NaN12")),
        (Decimal("1200"), Decimal("12E2")),
        (dt.datetime(2020, 1, 1, 1, tzinfo=CET), dt.datetime(2020, 1, 1, 0, tzinfo=dt.UTC)),
        (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, fold=1), pd.Timestamp(2020, 1, 1)),
        (1, np.int64(1), np.uint8(1)),
        (True, np.bool_(True)),
        (0.5, np.float32(0.5), np.float64(0.5)),
        ("a", np.str_("a")),
    ],
)
def test_the_same_key(same: tuple[Any, ...]) -> None:
    assert len({encode_key(value) for value in same}) == 1


@pytest.mark.parametrize(
    "different",
    [
        (1, 1.0, True, Decimal(1), "1", b"1", (1,), Level.LOW),
        ((1, 2), Point(1, 2), Row(1, 2), Row(x=1, y=2), Row(y=2, x=1)),
        (("a", "b"), ("ab",), ("ab", ""), (("a", "b"),)),
        (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.date(2020, 1, 1)),
        (Account("a", 1), Account("a", 1, "note"), ("a", 1, "")),
        (Row(1), Row.of_kind(RowKind.DELETE, 1)),
        (None, (), "", b"", 0, False),
        (10**30, 10**30 + 1, float(10**30)),
    ],
)
def test_different_keys(different: tuple[Any, ...]) -> None:
    assert len({encode_key(value) for value in different}) == len(different)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (math.nan, "057ff8000000000000"),
        (-0.0, "050000000000000000"),
        (Decimal("NaN"), "06000000034e614e"),
        (Decimal("1.20"), "06000000053132452d31"),
        (dt.datetime(2020, 1, 1, 1, tzinfo=CET), "0c80059b08c1fa4000"),
        (np.timedelta64(1, "s"), "130380000000000f4240"),
    ],
)
def test_golden_vector_of_what_is_decoded_as_another_value(value: Any, encoded: str) -> None:
    assert encode_key(value).hex() == encoded


def test_a_decimal_of_any_length_keeps_its_digits() -> None:
    digits = Decimal("1." + "7" * 100)
    assert decode_key(encode_key(digits)) == digits


@pytest.mark.parametrize(
    "value",
    [[1], {"a": 1}, {1}, bytearray(b"a"), object(), ([1],), Account, Right.READ | Right.WRITE, 1j, lambda: 1],
)
def test_what_cannot_be_a_key_is_refused(value: Any) -> None:
    with pytest.raises(KeyEncodingError, match="cannot be a key"):
        encode_key(value)


def test_the_refusal_says_what_can_be_a_key() -> None:
    with pytest.raises(KeyEncodingError, match="use a tuple"):
        encode_key([1, 2])
    with pytest.raises(KeyEncodingError, match="time of day with a zone"):
        encode_key(dt.time(1, tzinfo=CET))
    for value in (pd.Timestamp("2020-01-01T00:00:00.000000001"), pd.Timedelta("1us 1ns")):
        with pytest.raises(KeyEncodingError, match="nanoseconds"):
            encode_key(value)
    for number in (np.longdouble(1), np.timedelta64(1, "ns"), np.timedelta64(1, "Y"), np.timedelta64("NaT")):
        with pytest.raises(KeyEncodingError, match="no number that is always the same"):
            encode_key(number)
    with pytest.raises(KeyEncodingError, match="no point in time"):
        encode_key(pd.NaT)
    with pytest.raises(KeyEncodingError, match="outside of the years 1 to 9999"):
        encode_key(dt.datetime(1, 1, 1, tzinfo=CET))


def test_a_class_is_found_by_its_name_or_named_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_encoding, "_classes", {})
    by_import = b"\x10" + encode_key("uuid:SafeUUID")[1:] + encode_key("safe")[1:]
    assert decode_key(by_import).name == "safe"
    with pytest.raises(KeyEncodingError, match=r"golden\.Color"):
        decode_key(bytes.fromhex("100000000c676f6c64656e3a436f6c6f7200000003524544"))


def test_a_class_that_has_changed_is_an_error() -> None:
    with pytest.raises(KeyEncodingError, match="no member 'BLUE'"):
        decode_key(b"\x10" + encode_key("golden:Color")[1:] + encode_key("BLUE")[1:])
    with pytest.raises(KeyEncodingError, match="has changed"):
        decode_key(b"\x0f" + encode_key("golden:Point")[1:] + encode_key((1, 2, 3))[1:])
    with pytest.raises(KeyEncodingError, match="has changed"):
        decode_key(b"\x0e" + encode_key("golden:Account")[1:] + encode_key(("a",))[1:])


@pytest.mark.parametrize("data", ["", "ff", "03", "0380", "07000000ff61", "0000", "0d00000002", "06000000027878"])
def test_other_bytes_are_refused(data: str) -> None:
    with pytest.raises(KeyEncodingError, match="not an encoded key"):
        decode_key(bytes.fromhex(data))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None, 2, 1, -(2**63)], pa.int64()),
        pa.array([1, 255], pa.uint8()),
        pa.array([1, 2**64 - 1, None], pa.uint64()),
        pa.array([-1, None], pa.int8()),
        pa.array(["a", "b", None, "a", ""]),
        pa.array(["a", None], pa.large_string()),
        pa.array([b"a", None, b""]),
        pa.array([0.0, -0.0, math.nan, 1.5, None]),
        pa.array([0.1, None], pa.float32()),
        pa.array([True, None, False]),
        pa.array([Decimal("1.00"), Decimal("2.50")], pa.decimal128(10, 2)),
        pa.array([dt.date(2020, 1, 1), None]),
        pa.array([dt.time(1, 2, 3)], pa.time64("us")),
        pa.array([dt.datetime(2020, 1, 1), None], pa.timestamp("us")),
        pa.array([dt.datetime(2020, 1, 1), None], pa.timestamp("us", "Europe/Berlin")),
        pa.array([None, None]),
        pa.array([], pa.int64()),
        pa.array([5, 6, 7, 8, None])[1:4],
        pa.array(["a", None, "a"]).dictionary_encode(),
        pa.array([1, None, 1]).dictionary_encode(null_encoding="encode").dictionary,
        pa.chunked_array([[1, 2], [3]]),
    ],
    ids=lambda column: str(column.type),
)
def test_a_column_gives_the_keys_of_its_values(column: pa.Array) -> None:
    assert encode_column(column) == [encode_key(value) for value in column.to_pylist()]


def test_a_column_of_structs_is_refused() -> None:
    with pytest.raises(KeyEncodingError, match="cannot be a key"):
        encode_column(pa.array([{"a": 1}]))
