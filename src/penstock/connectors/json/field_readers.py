"""From a JSON value to the value that a field's Arrow column stores, one function per type."""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import json
import math
import pickle
import re
from collections.abc import Callable
from typing import Any

from penstock.common.errors import UnsupportedError
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    DateTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from penstock.connectors.json.documents import BoundlessNumber

FieldReader = Callable[[Any], Any]
"""Takes a parsed JSON value (never null) and returns what the column stores; raises ValueError with the reason."""

_INTEGER_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}
_FRACTION = re.compile(r"[.,](\d+)")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def field_reader(type_info: TypeInformation) -> FieldReader:  # noqa: PLR0911  one line per type
    """The reader of one field."""
    if isinstance(type_info, BasicTypeInfo):
        return _basic_reader(type_info.basic_type)
    if isinstance(type_info, DateTypeInfo):
        return _date
    if isinstance(type_info, TimeTypeInfo):
        return _time
    if isinstance(type_info, TimestampTypeInfo):
        return _timestamp
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes:
        return _bytes
    if isinstance(type_info, CollectionTypeInfo):
        return _array_reader(type_info)
    if isinstance(type_info, MapTypeInfo):
        return _map_reader(type_info)
    if isinstance(type_info, CompositeTypeInfo):
        return _object_reader(type_info)
    if type_info.is_pickled:
        return _any_value
    raise UnsupportedError(f"a field of type {type_info!r} cannot be read from JSON")


def _basic_reader(basic_type: BasicType) -> FieldReader:
    if basic_type in _INTEGER_BITS:
        return _integer_reader(basic_type.name, _INTEGER_BITS[basic_type])
    return {
        BasicType.STRING: _string,
        BasicType.CHAR: _character,
        BasicType.BOOLEAN: _boolean,
        BasicType.FLOAT: _number,
        BasicType.DOUBLE: _number,
        BasicType.BIG_INT: _big_integer,
        BasicType.BIG_DEC: _big_decimal,
        BasicType.INSTANT: _instant,
    }[basic_type]


def _mismatch(value: Any, expected: str) -> ValueError:
    if isinstance(value, BoundlessNumber):
        expected = "a number that can be read: it has too many digits, or too great an exponent"
    shown = str(value) if isinstance(value, decimal.Decimal | BoundlessNumber) else json.dumps(value, default=str)
    return ValueError(f"{shown if len(shown) <= 100 else shown[:100] + '...'} is not {expected}")


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _mismatch(value, "a string")
    return _whole(value)


def _character(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1:
        raise _mismatch(value, "a string of one character")
    return _whole(value)


def _whole(value: str) -> str:
    """Refuses half of a character, which an escape may name: no column holds it."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _mismatch(value, "a string of whole characters") from None
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _mismatch(value, "true or false")
    return value


def _integer_reader(name: str, bits: int) -> FieldReader:
    lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _mismatch(value, "a whole number")
        if not lowest <= value <= highest:
            raise _mismatch(value, f"in the range of {name}")
        return value

    return read


def _number(value: Any) -> float:
    if isinstance(value, BoundlessNumber):
        number = float(value.text)
        if math.isinf(number):
            raise _mismatch(value, "in the range of a float")
        return number
    if isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isinf(number) and value not in (math.inf, -math.inf):
            raise _mismatch(value, "in the range of a float")
        return number
    # How JSON writers that stay within the standard write what it has no numbers for.
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise _mismatch(value, "a number")


def _big_integer(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.removeprefix("-").isascii() and value.removeprefix("-").isdigit():
        return str(int(value))
    raise _mismatch(value, "a whole number")


def _big_decimal(value: Any) -> str:
    if isinstance(value, int | decimal.Decimal | str) and not isinstance(value, bool):
        try:
            number = decimal.Decimal(value)
        except decimal.InvalidOperation:
            number = decimal.Decimal("NaN")
        if number.is_finite():
            return str(number)
    raise _mismatch(value, "a decimal number")


def _parsed(value: Any, parse: Callable[[str], Any], expected: str) -> Any:
    if not isinstance(value, str):
        raise _mismatch(value, expected)
    try:
        return parse(value)
    except (ValueError, OverflowError):
        raise _mismatch(value, expected) from None


def _date(value: Any) -> datetime.date:
    return _parsed(value, datetime.date.fromisoformat, "a date such as 2024-12-31")


def _time(value: Any) -> datetime.time:
    time = _parsed(value, datetime.time.fromisoformat, "a time such as 12:34:56.789")
    if time.tzinfo is not None:
        raise _mismatch(value, "a time without a time zone")
    return time


def _timestamp(value: Any) -> datetime.datetime:
    return _parsed(value, _moment, "a timestamp such as 2024-12-31T12:34:56.789")


def _moment(text: str) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text)
    return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)


def _instant(value: Any) -> dict[str, int]:
    moment = _parsed(value, datetime.datetime.fromisoformat, "an instant such as 2024-12-31T12:34:56.789Z")
    if moment.tzinfo is None:
        raise _mismatch(value, "an instant: it names no time zone")
    since = moment - _EPOCH
    fraction = _FRACTION.search(value)
    # Python's own parser stops at microseconds.
    nanos = int(fraction[1][:9].ljust(9, "0")) if fraction else 0
    return {"seconds": since.days * 86_400 + since.seconds, "nanos": nanos}


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            pass
    raise _mismatch(value, "bytes in base64")


def _any_value(value: Any) -> bytes:
    return pickle.dumps(_with_floats(value), 5)


def _with_floats(value: Any) -> Any:
    match value:
        case decimal.Decimal():
            return float(value)
        case BoundlessNumber():
            raise _mismatch(value, "a number")
        case list():
            return [_with_floats(each) for each in value]
        case dict():
            return {key: _with_floats(each) for key, each in value.items()}
        case _:
            return value


def _array_reader(type_info: CollectionTypeInfo) -> FieldReader:
    element = field_reader(type_info.element_type)

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _mismatch(value, "an array")
        return [None if each is None else element(each) for each in value]

    return read


def _map_reader(type_info: MapTypeInfo) -> FieldReader:
    read_value = field_reader(type_info.value_type)
    read_key = _map_key_reader(type_info.key_type)

    def read(value: Any) -> list[tuple[Any, Any]]:
        if not isinstance(value, dict):
            raise _mismatch(value, "an object")
        return [(read_key(key), None if each is None else read_value(each)) for key, each in value.items()]

    return read


def _map_key_reader(type_info: TypeInformation) -> FieldReader:
    """JSON's keys are strings: numbers are written in them as in values."""
    read = field_reader(type_info)
    if type_info.arrow_type() == BasicTypeInfo(BasicType.STRING).arrow_type():
        return read

    def read_key(key: str) -> Any:
        try:
            parsed = json.loads(key)
        except ValueError:
            parsed = key
        return read(key if isinstance(parsed, float) and not math.isfinite(parsed) else parsed)

    return read_key


def _object_reader(type_info: CompositeTypeInfo) -> FieldReader:
    fields = [
        (name, field_reader(each))
        for name, each in zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
    ]

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _mismatch(value, "an object")
        result: dict[str, Any] = {}
        for name, read_field in fields:
            each = value.get(name)
            try:
                result[name] = None if each is None else read_field(each)
            except ValueError as problem:
                raise ValueError(f"field {name}: {problem}") from None
        return result

    return read
