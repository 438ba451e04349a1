"""Keys as bytes: a written, injective encoding that is part of the format of checkpoints and never changes.

Every value is one tag byte and a payload that says where it ends, so that values can follow each other:

    00  None
    01  False
    02  True
    03  int of 64 bits         u64: the value + 2**63
    04  any other int          text: two's complement in bit_length() // 8 + 1 bytes
    05  float                  its IEEE 754 bits; -0.0 becomes 0.0, every NaN becomes 7ff8000000000000
    06  Decimal                text: canonical digits, see below
    07  str                    text: UTF-8 (lone surrogates pass)
    08  bytes                  text
    09  date                   u32: proleptic Gregorian ordinal, 0001-01-01 is 1
    0a  time without zone      u64: microseconds since midnight
    0b  datetime without zone  u64: microseconds since 1970-01-01T00:00:00 + 2**63
    0c  datetime with a zone   the same of its instant in UTC; it is decoded as a datetime in UTC
    0d  tuple                  u32: number of items, then the items
    0e  dataclass              class, u32: number of fields, then all fields in their order
    0f  named tuple            class, u32: number of fields, then the fields
    10  enum member            class, then text: the member's name in UTF-8
    11  Row                    u8: kind, u8: 1 when it has names, u32: number of fields, then for each field
                               its name as text (when it has names) and its value
    12  Instant                u64: seconds since 1970-01-01T00:00:00Z + 2**63, u32: nanoseconds
    13  timedelta              its microseconds as an int (03 or 04)
    14  UUID                   16 bytes

All numbers are big-endian; text is a u32 length and that many bytes; a class is text, `module:qualname`, in
UTF-8.

Which values are the same key:
- `1`, `1.0`, `True` and `Decimal(1)` are four keys, as in a stream of one declared type; a tuple and a named
  tuple of the same items are two. Numbers and time spans of numpy are those of Python that they equal.
- Decimals of the same value are the same key: 1.0, 1.00 and 1; 0 and -0; every NaN. The canonical form has no
  trailing zeros: `-12E3`, `0E0`, `NaN`, `Infinity`, `-Infinity`; decoding 1.00 gives 1.
- Datetimes with a zone are the same key when they are the same instant. `fold` does not count elsewhere.
- All fields of a dataclass count, also those with `compare=False`; the names and the kind of a Row count.
Lists, dicts, sets and other classes cannot be keys; nothing is ever pickled.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import sys
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from importlib import import_module
from struct import Struct
from typing import Any, cast
from uuid import UUID

import numpy as np
import pyarrow as pa

from penstock.common.errors import KeyEncodingError
from penstock.common.row import Row, restore_row
from penstock.common.time import Instant

_U32 = Struct(">I")
_TAG_U32 = Struct(">BI")
_TAG_U64 = Struct(">BQ")
_TAG_DOUBLE = Struct(">Bd")
_TAG_U64_U32 = Struct(">BQI")
_SIGN = 1 << 63
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_NAN = b"\x05\x7f\xf8\0\0\0\0\0\0"

NONE_KEY = b"\x00"
"""The encoding of None."""


def encode_key(value: object) -> bytes:
    """The bytes of a key. Raises `KeyEncodingError` for what cannot be one."""
    encoder = _ENCODERS.get(type(value))
    return encoder(value) if encoder is not None else _encode_other(value)


def _encode_int(value: int) -> bytes:
    if -_SIGN <= value < _SIGN:
        return _TAG_U64.pack(3, value + _SIGN)
    return _text(4, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _encode_float(value: float) -> bytes:
    # Adding 0.0 turns -0.0 into 0.0.
    return _NAN if value != value else _TAG_DOUBLE.pack(5, value + 0.0)  # noqa: PLR0124


def _encode_decimal(value: Decimal) -> bytes:
    if value.is_nan():
        return _text(6, b"NaN")
    if value.is_infinite():
        return _text(6, b"Infinity" if value > 0 else b"-Infinity")
    if not value:
        return _text(6, b"0E0")
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    exponent = cast("int", exponent) + len(text) - len(stripped)
    return _text(6, f"{'-' if sign else ''}{stripped}E{exponent}".encode())


def _encode_str(value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    return _TAG_U32.pack(7, len(data)) + data


def _encode_time(value: dt.time) -> bytes:
    if value.tzinfo is not None:
        raise KeyEncodingError(
            f"{value!r} cannot be a key: a time of day with a zone is no point in time. Use a datetime, or a "
            "time without zone."
        )
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return _TAG_U64.pack(0x0A, seconds * 1_000_000 + value.microsecond)


def _encode_datetime(value: dt.datetime) -> bytes:
    if value.tzinfo is None or value.utcoffset() is None:
        return _TAG_U64.pack(0x0B, (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND + _SIGN)
    try:
        instant = value.astimezone(dt.UTC)
    except OverflowError as error:
        raise KeyEncodingError(f"{value!r} cannot be a key: in UTC it is outside of the years 1 to 9999") from error
    return _TAG_U64.pack(0x0C, (instant - _EPOCH_UTC) // _MICROSECOND + _SIGN)


def _encode_tuple(value: tuple[object, ...]) -> bytes:
    return _TAG_U32.pack(0x0D, len(value)) + b"".join(map(encode_key, value))


def _encode_row(value: Row) -> bytes:
    names = value.get_field_names()
    head = bytes((0x11, value.get_row_kind().value, names is not None)) + _U32.pack(len(value))
    if names is None:
        return head + b"".join(map(encode_key, value))
    fields = zip(names, value, strict=True)
    return head + b"".join(_encode_str(name)[1:] + encode_key(item) for name, item in fields)


def _encode_instant(value: Instant) -> bytes:
    return _TAG_U64_U32.pack(0x12, value.seconds + _SIGN, value.nanos)


def _text(tag: int, data: bytes) -> bytes:
    return _TAG_U32.pack(tag, len(data)) + data


_ENCODERS: dict[type[Any], Callable[[Any], bytes]] = {
    type(None): lambda _: NONE_KEY,
    bool: lambda value: b"\x02" if value else b"\x01",
    int: _encode_int,
    float: _encode_float,
    Decimal: _encode_decimal,
    str: _encode_str,
    bytes: lambda value: _text(8, value),
    dt.date: lambda value: _TAG_U32.pack(9, value.toordinal()),
    dt.time: _encode_time,
    dt.datetime: _encode_datetime,
    dt.timedelta: lambda value: b"\x13" + _encode_int(value // _MICROSECOND),
    tuple: _encode_tuple,
    Row: _encode_row,
    Instant: _encode_instant,
    UUID: lambda value: b"\x14" + value.bytes,
}


def _encode_other(value: object) -> bytes:
    """Members of user classes, numbers of numpy, and instances of subclasses."""
    cls = type(value)
    if isinstance(value, Enum) and value.name in type(value).__members__:
        return b"\x10" + _class_name(cls) + _encode_str(value.name)[1:]
    if isinstance(value, tuple) and hasattr(cls, "_fields"):
        return b"\x0f" + _class_name(cls) + _encode_tuple(cast("tuple[object, ...]", value))[1:]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
        return b"\x0e" + _class_name(cls) + _encode_tuple(items)[1:]
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return encode_key(_python_number(value))
    if isinstance(value, dt.datetime) and value != value:  # noqa: PLR0124
        raise KeyEncodingError(f"{value!r} cannot be a key: it is no point in time. Use None.")
    if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
        raise KeyEncodingError(f"{value!r} cannot be a key: it has nanoseconds, and keys have microseconds. Round it.")
    if isinstance(value, Enum):
        raise KeyEncodingError(f"{value!r} cannot be a key: it is no single member of its enum")
    for base in (int, float, Decimal, str, bytes, dt.datetime, dt.date, dt.time, dt.timedelta, Row, UUID):
        if isinstance(value, base):
            return _ENCODERS[base](value)
    raise KeyEncodingError(
        f"{value!r} of class {cls.__module__}.{cls.__qualname__} cannot be a key. A key is None, bool, int, "
        "float, Decimal, str, bytes, date, time, datetime, timedelta, UUID, Instant, Row, an enum member, or "
        "a tuple, named tuple or dataclass of these. For lists use a tuple; for other classes use the fields "
        "that make the key."
    )


def _python_number(value: Any) -> object:
    number = value.item()
    # numpy gives a long double back as it is, and a time span that Python cannot hold as a bare count of its units.
    if isinstance(number, np.generic) or (isinstance(value, np.timedelta64) and not isinstance(number, dt.timedelta)):
        raise KeyEncodingError(
            f"{value!r} cannot be a key: Python has no number that is always the same. Use a float, or a timedelta."
        )
    return number


_class_names: dict[type[Any], bytes] = {}
_classes: dict[str, type[Any]] = {}


def register_key_class(cls: type[Any]) -> None:
    """Makes keys of a class decodable in this process where it cannot be imported by its name.

    Classes of the user's main module travel to workers by value, for instance. A class of the same name that
    was registered before is replaced.
    """
    name = f"{cls.__module__}:{cls.__qualname__}"
    _classes[name] = cls
    _class_names[cls] = _encode_str(name)[1:]


def _class_name(cls: type[Any]) -> bytes:
    if cls not in _class_names:
        register_key_class(cls)
    return _class_names[cls]


def _find_class(name: str) -> type[Any]:
    cls: Any = _classes.get(name)
    if cls is not None:
        return cls
    module, _, qualified = name.partition(":")
    try:
        cls = sys.modules.get(module) or import_module(module)
        for part in qualified.split("."):
            cls = getattr(cls, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise KeyEncodingError(
            f"the class {name.replace(':', '.')} of a key cannot be found in this process: {error}. Define "
            "it in a module that the workers can import, and do not rename it while such keys are in use."
        ) from error
    return cls


def decode_key(data: bytes) -> Any:
    """The key again."""
    try:
        value, end = _decode(data, 0)
    except KeyEncodingError:
        raise
    except Exception as error:
        raise KeyEncodingError(f"{data.hex()} is not an encoded key: {error}") from error
    if end != len(data):
        raise KeyEncodingError(f"{data.hex()} is not an encoded key: {len(data) - end} bytes follow its end")
    return value


def _decode(data: bytes, at: int) -> tuple[Any, int]:
    decoder = _DECODERS.get(data[at])
    if decoder is None:
        raise KeyEncodingError(f"{data.hex()} is not an encoded key: unknown tag {data[at]:#04x} at {at}")
    return decoder(data, at + 1)


def _u32(data: bytes, at: int) -> int:
    return _U32.unpack_from(data, at)[0]


def _u64(data: bytes, at: int) -> int:
    if at + 8 > len(data):
        raise ValueError("it ends too early")
    return int.from_bytes(data[at : at + 8], "big")


def _decode_text(data: bytes, at: int) -> tuple[bytes, int]:
    end = at + 4 + _u32(data, at)
    if end > len(data):
        raise ValueError("it ends too early")
    return data[at + 4 : end], end


def _decode_str(data: bytes, at: int) -> tuple[str, int]:
    text, end = _decode_text(data, at)
    return text.decode("utf-8", "surrogatepass"), end


def _decode_big_int(data: bytes, at: int) -> tuple[int, int]:
    text, end = _decode_text(data, at)
    return int.from_bytes(text, "big", signed=True), end


def _decode_decimal(data: bytes, at: int) -> tuple[Decimal, int]:
    text, end = _decode_text(data, at)
    return Decimal(text.decode()), end


def _decode_float(data: bytes, at: int) -> tuple[float, int]:
    value: float = _TAG_DOUBLE.unpack_from(data, at - 1)[1]
    return (math.nan if value != value else value), at + 8  # noqa: PLR0124


def _decode_time(data: bytes, at: int) -> tuple[dt.time, int]:
    seconds, microsecond = divmod(_u64(data, at), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return dt.time(hour, minute, second, microsecond), at + 8


def _decode_items(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    items: list[Any] = []
    count, at = _u32(data, at), at + 4
    for _ in range(count):
        item, at = _decode(data, at)
        items.append(item)
    return tuple(items), at


def _decode_dataclass(data: bytes, at: int) -> tuple[Any, int]:
    name, at = _decode_str(data, at)
    items, at = _decode_items(data, at)
    cls = _find_class(name)
    if not dataclasses.is_dataclass(cls) or len(dataclasses.fields(cls)) != len(items):
        raise KeyEncodingError(f"the class {name} has changed: the key has {len(items)} fields, {items!r}")
    value = object.__new__(cls)
    for field, item in zip(dataclasses.fields(cls), items, strict=True):
        # The constructor may do more than set fields, and the class may be frozen.
        object.__setattr__(value, field.name, item)
    return value, at


def _decode_named_tuple(data: bytes, at: int) -> tuple[Any, int]:
    name, at = _decode_str(data, at)
    items, at = _decode_items(data, at)
    cls: Any = _find_class(name)
    if len(getattr(cls, "_fields", ())) != len(items):
        raise KeyEncodingError(f"the class {name} has changed: the key has {len(items)} fields, {items!r}")
    return cls._make(items), at


def _decode_enum(data: bytes, at: int) -> tuple[Any, int]:
    name, at = _decode_str(data, at)
    member, at = _decode_str(data, at)
    cls: Any = _find_class(name)
    if member not in getattr(cls, "__members__", ()):
        raise KeyEncodingError(f"the enum {name} has no member {member!r} any more")
    return cls[member], at


def _decode_row(data: bytes, at: int) -> tuple[Row, int]:
    kind, named, count, at = data[at], data[at + 1], _u32(data, at + 2), at + 6
    names: list[str] = []
    values: list[Any] = []
    for _ in range(count):
        if named:
            name, at = _decode_str(data, at)
            names.append(name)
        value, at = _decode(data, at)
        values.append(value)
    return restore_row(tuple(names) if named else None, values, kind), at


def _decode_instant(data: bytes, at: int) -> tuple[Instant, int]:
    return Instant(_u64(data, at) - _SIGN, _u32(data, at + 8)), at + 12


def _decode_timedelta(data: bytes, at: int) -> tuple[dt.timedelta, int]:
    microseconds, end = _decode(data, at)
    return microseconds * _MICROSECOND, end


def _decode_uuid(data: bytes, at: int) -> tuple[UUID, int]:
    return UUID(bytes=data[at : at + 16]), at + 16


_DECODERS: dict[int, Callable[[bytes, int], tuple[Any, int]]] = {
    0x00: lambda _, at: (None, at),
    0x01: lambda _, at: (False, at),
    0x02: lambda _, at: (True, at),
    0x03: lambda data, at: (_u64(data, at) - _SIGN, at + 8),
    0x04: _decode_big_int,
    0x05: _decode_float,
    0x06: _decode_decimal,
    0x07: _decode_str,
    0x08: _decode_text,
    0x09: lambda data, at: (dt.date.fromordinal(_u32(data, at)), at + 4),
    0x0A: _decode_time,
    0x0B: lambda data, at: (_EPOCH + (_u64(data, at) - _SIGN) * _MICROSECOND, at + 8),
    0x0C: lambda data, at: (_EPOCH_UTC + (_u64(data, at) - _SIGN) * _MICROSECOND, at + 8),
    0x0D: _decode_items,
    0x0E: _decode_dataclass,
    0x0F: _decode_named_tuple,
    0x10: _decode_enum,
    0x11: _decode_row,
    0x12: _decode_instant,
    0x13: _decode_timedelta,
    0x14: _decode_uuid,
}


def encode_column(column: pa.Array) -> list[bytes]:
    """The same bytes as `encode_key` of each value: every distinct value is encoded once."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.DictionaryArray):
        # Its dictionary may hold a value twice, or values that no row has.
        column = column.dictionary_decode()
    if not _has_dictionary_form(column.type):
        return [encode_key(value) for value in column.to_pylist()]
    encoded = column.dictionary_encode()
    keys = _encode_distinct(encoded.dictionary)
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(len(keys))
        keys.append(NONE_KEY)
    return list(map(keys.__getitem__, indices.to_numpy(zero_copy_only=False).tolist()))


def _has_dictionary_form(column_type: pa.DataType) -> bool:
    return not (pa.types.is_nested(column_type) or pa.types.is_null(column_type))


def _encode_distinct(values: pa.Array) -> list[bytes]:
    if not pa.types.is_integer(values.type) or pa.types.is_uint64(values.type):
        return [encode_key(value) for value in values.to_pylist()]
    numbers = values.to_numpy(zero_copy_only=False).astype(np.int64)
    encoded = np.empty((len(numbers), 9), dtype=np.uint8)
    encoded[:, 0] = 3
    biased = numbers.view(np.uint64) ^ np.uint64(1 << 63)
    encoded[:, 1:] = biased.astype(">u8").view(np.uint8).reshape(-1, 8)
    data = encoded.tobytes()
    return [data[start : start + 9] for start in range(0, len(data), 9)]
