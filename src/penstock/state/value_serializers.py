"""How values of state become bytes: one tag byte (0: None, 1: anything else), then the value by its declared type.

    BYTE, SHORT, INT, LONG   little-endian, in 1, 2, 4, 8 bytes
    FLOAT, DOUBLE            little-endian IEEE 754, in 8 bytes
    BOOLEAN                  one byte
    STRING, CHAR             UTF-8
    PRIMITIVE_ARRAY(BYTE)    as it is
    any other declared type  its plain value, see `plain_values`
    none, PICKLED_BYTE_ARRAY pickle, protocol 5

Many values in one: u32 length and bytes of each; one list where values are plain or pickled.
"""

from __future__ import annotations

import math
import pickle
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np

from penstock.common.errors import StateCorruptionError, TypeMismatchError
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    TypeInformation,
)
from penstock.state.own_copy import pickled
from penstock.state.plain_values import from_plain, plain_from_bytes, plain_to_bytes, to_plain

_NONE = b"\x00"
_PRESENT = b"\x01"
_U32 = Struct("<I")
_LARGEST_FLOAT = float(np.finfo(np.float32).max)


class ValueSerializer(ABC):
    """Bytes of values of one type."""

    expected: type[Any] | None = None
    """Values of exactly this class are kept as they are, others as `convert` makes them; None: all are kept."""
    may_change: bool = False
    """Whether values can be changed in place, so that what is kept has to be a copy."""

    def convert(self, value: Any) -> Any:
        """The value as the type has it. Raises `TypeMismatchError`."""
        return value

    @abstractmethod
    def dumps(self, value: Any) -> bytes:
        """The bytes of a value."""

    @abstractmethod
    def loads(self, data: bytes) -> Any:
        """The value again."""

    def dumps_many(self, values: Sequence[Any]) -> bytes:
        """The bytes of many values."""
        return join_values([self.dumps(value) for value in values])

    def loads_many(self, data: bytes) -> list[Any]:
        """Many values again."""
        return [self.loads(part) for part in split_values(data)]


class _Number(ValueSerializer):
    def __init__(self, type_info: TypeInformation, code: str) -> None:
        self._type_info = type_info
        self._struct = Struct(f"<B{code}")

    def dumps(self, value: Any) -> bytes:
        if value is None:
            return _NONE
        try:
            return self._struct.pack(1, value)
        except struct.error as error:
            raise TypeMismatchError(f"{value!r} does not fit into {self._type_info!r}") from error

    def loads(self, data: bytes) -> Any:
        return self._struct.unpack(data)[1] if data[0] else None


class _Integer(_Number):
    expected = int

    def convert(self, value: Any) -> Any:
        if value is None or isinstance(value, int | np.integer):
            return None if value is None else int(value)
        raise _mismatch(value, self._type_info, "an int")


class _Double(_Number):
    expected = float

    def convert(self, value: Any) -> Any:
        if value is None or isinstance(value, float | int | np.floating | np.integer):
            return None if value is None else float(value)
        raise _mismatch(value, self._type_info, "a float")


class _Float(_Double):
    """Kept as the 64 bits that Python computes with, like the values that PyFlink's functions find in their cache.

    Rounded to the 32 bits of the type, a sum would lose a little with every record. What does not fit is an error.
    """

    def dumps(self, value: Any) -> bytes:
        if value is not None and _LARGEST_FLOAT < abs(value) < math.inf:
            raise TypeMismatchError(f"{value!r} does not fit into {self._type_info!r}")
        return super().dumps(value)


class _Boolean(_Number):
    expected = bool

    def convert(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | np.bool_):
            return None if value is None else bool(value)
        raise _mismatch(value, self._type_info, "a bool")


class _Text(ValueSerializer):
    expected = str

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = type_info

    def convert(self, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return None if value is None else str(value)
        raise _mismatch(value, self._type_info, "a str")

    def dumps(self, value: Any) -> bytes:
        return _NONE if value is None else _PRESENT + value.encode("utf-8", "surrogatepass")

    def loads(self, data: bytes) -> Any:
        return data[1:].decode("utf-8", "surrogatepass") if data[0] else None


class _Bytes(ValueSerializer):
    expected = bytes

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = type_info

    def convert(self, value: Any) -> Any:
        if value is None or isinstance(value, bytes | bytearray | memoryview):
            return None if value is None else bytes(value)
        raise _mismatch(value, self._type_info, "bytes")

    def dumps(self, value: Any) -> bytes:
        return _NONE if value is None else _PRESENT + value

    def loads(self, data: bytes) -> Any:
        return data[1:] if data[0] else None


class _Plain(ValueSerializer):
    """Values of any declared type, by their plain form: reading them runs no code of theirs."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._to_plain = to_plain(type_info)
        self._from_plain = from_plain(type_info)
        self.may_change = isinstance(type_info, CompositeTypeInfo | CollectionTypeInfo | MapTypeInfo)

    def dumps(self, value: Any) -> bytes:
        if value is None:
            return _NONE
        return _PRESENT + plain_to_bytes(value if self._to_plain is None else self._to_plain(value))

    def loads(self, data: bytes) -> Any:
        if not data[0]:
            return None
        plain = plain_from_bytes(memoryview(data)[1:])
        return plain if self._from_plain is None or plain is None else self._from_plain(plain)

    def dumps_many(self, values: Sequence[Any]) -> bytes:
        convert = self._to_plain
        if convert is None:
            return plain_to_bytes(list(values))
        return plain_to_bytes([None if value is None else convert(value) for value in values])

    def loads_many(self, data: bytes) -> list[Any]:
        values, convert = plain_from_bytes(data), self._from_plain
        if type(values) is not list:
            raise StateCorruptionError(f"stored values are no list but {values!r}")
        if convert is None:
            return values
        return [None if value is None else convert(value) for value in values]


class OneByOne(ValueSerializer):
    """Makes many values separate ones, so that whoever spreads them anew need not know their type."""

    def __init__(self, serializer: ValueSerializer) -> None:
        self._of_one = serializer
        self.expected = serializer.expected
        self.may_change = serializer.may_change

    def convert(self, value: Any) -> Any:
        """The value as the type has it."""
        return self._of_one.convert(value)

    def dumps(self, value: Any) -> bytes:
        """The bytes of a value."""
        return self._of_one.dumps(value)

    def loads(self, data: bytes) -> Any:
        """The value again."""
        return self._of_one.loads(data)


def split_values(data: bytes) -> list[bytes]:
    """The bytes of each of the values that `OneByOne` has put together."""
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        start = at + _U32.size
        at = start + _U32.unpack_from(data, at)[0]
        parts.append(data[start:at])
    return parts


def join_values(parts: Sequence[bytes]) -> bytes:
    """What `split_values` takes apart."""
    return b"".join(piece for part in parts for piece in (_U32.pack(len(part)), part))


class _Pickle(ValueSerializer):
    may_change = True

    def dumps(self, value: Any) -> bytes:
        return _NONE if value is None else _PRESENT + pickled(value)

    def loads(self, data: bytes) -> Any:
        return pickle.loads(memoryview(data)[1:]) if data[0] else None

    def dumps_many(self, values: Sequence[Any]) -> bytes:
        return pickled(list(values))

    def loads_many(self, data: bytes) -> list[Any]:
        return pickle.loads(data)


def _mismatch(value: Any, type_info: TypeInformation, expected: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"{value!r} of class {type(value).__qualname__} is not {expected}, as the declared type {type_info!r} needs"
    )


_PICKLE = _Pickle()
_INTEGER_CODES = {BasicType.BYTE: "b", BasicType.SHORT: "h", BasicType.INT: "i", BasicType.LONG: "q"}


def serializer_for(type_info: TypeInformation | None) -> ValueSerializer:  # noqa: PLR0911 (a table)
    """The serializer of a declared type; None: of any Python object."""
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes:
        return _Bytes(type_info)
    if type_info is None or type_info.is_pickled:
        return _PICKLE
    if not isinstance(type_info, BasicTypeInfo):
        return _Plain(type_info)
    match type_info.basic_type:
        case BasicType.BYTE | BasicType.SHORT | BasicType.INT | BasicType.LONG as basic:
            return _Integer(type_info, _INTEGER_CODES[basic])
        case BasicType.DOUBLE:
            return _Double(type_info, "d")
        case BasicType.FLOAT:
            return _Float(type_info, "d")
        case BasicType.BOOLEAN:
            return _Boolean(type_info, "?")
        case BasicType.STRING | BasicType.CHAR:
            return _Text(type_info)
        case _:
            return _Plain(type_info)
