"""`TypeInformation` and the types that have no parts: numbers, text, dates, pickled objects."""
# ruff: noqa: D102, N802 (methods that a base class or protocol documents; PyFlink's names)

from __future__ import annotations

from enum import Enum

import pyarrow as pa

from penstock.common.errors import UnsupportedError


class TypeInformation:
    """What is known of the records of a stream, of a field or of a state: their form in Python and in Arrow.

    Types are immutable, comparable, hashable and picklable. As in PyFlink, the names of a row's fields do not
    count when types are compared; `exact_key` tells such types apart.
    """

    @property
    def is_pickled(self) -> bool:
        """True where nothing is declared: the values are any Python objects, pickled when they travel."""
        return False

    def arrow_type(self) -> pa.DataType:
        """The Arrow type of a column of such values; pickled objects have none: `UnsupportedError`."""
        raise NotImplementedError

    def column_type(self) -> pa.DataType:
        """The Arrow type of a field of this type inside a composite: there pickled objects are binary."""
        return self.arrow_type()

    def parts(self) -> tuple[object, ...]:
        """What the type is made of, for comparing: other types, classes, names."""
        return ()

    def exact_key(self) -> tuple[object, ...]:
        """A hashable value that only types of the very same values share, names of fields included."""
        return type(self), tuple(p.exact_key() if isinstance(p, TypeInformation) else p for p in self.parts())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.parts() == other.parts()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.parts()))


class BasicType(Enum):
    """The basic types, by the name that Flink shows."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


INSTANT_ARROW_TYPE = pa.struct([pa.field("seconds", pa.int64()), pa.field("nanos", pa.int32())])
"""Arrow's own nanosecond timestamps end in the year 2262; `Instant` does not."""

_ARROW_OF_BASIC: dict[BasicType, pa.DataType] = {
    BasicType.STRING: pa.string(),
    BasicType.BYTE: pa.int8(),
    BasicType.BOOLEAN: pa.bool_(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.FLOAT: pa.float32(),
    BasicType.DOUBLE: pa.float64(),
    BasicType.CHAR: pa.string(),
    # Decimal digits: numbers of any size, and readable in every file that a sink writes.
    BasicType.BIG_INT: pa.string(),
    BasicType.BIG_DEC: pa.string(),
    BasicType.INSTANT: INSTANT_ARROW_TYPE,
}


class BasicTypeInfo(TypeInformation):
    """A number, a text, a boolean or an instant."""

    def __init__(self, basic_type: BasicType) -> None:
        self._basic_type = basic_type

    @property
    def basic_type(self) -> BasicType:
        """Which of the basic types."""
        return self._basic_type

    def arrow_type(self) -> pa.DataType:
        return _ARROW_OF_BASIC[self._basic_type]

    def parts(self) -> tuple[object, ...]:
        return (self._basic_type,)

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.STRING()`."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.BOOLEAN()`."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.BYTE()`."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.SHORT()`."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.INT()`."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.LONG()`."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.FLOAT()`."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.DOUBLE()`."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.CHAR()`."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.BIG_INT()`."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.BIG_DEC()`."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        """The same as `Types.INSTANT()`."""
        return BasicTypeInfo(BasicType.INSTANT)

    def __repr__(self) -> str:
        return self._basic_type.value


class DateTypeInfo(TypeInformation):
    """`datetime.date`."""

    def arrow_type(self) -> pa.DataType:
        return pa.date32()

    def __repr__(self) -> str:
        return "DateTypeInfo"


class TimeTypeInfo(TypeInformation):
    """`datetime.time` without a time zone, to the microsecond."""

    def arrow_type(self) -> pa.DataType:
        return pa.time64("us")

    def __repr__(self) -> str:
        return "TimeTypeInfo"


class TimestampTypeInfo(TypeInformation):
    """`datetime.datetime` without a time zone, to the microsecond."""

    def arrow_type(self) -> pa.DataType:
        return pa.timestamp("us")

    def __repr__(self) -> str:
        return "TimestampTypeInfo"


class PickledBytesTypeInfo(TypeInformation):
    """Any Python object."""

    @property
    def is_pickled(self) -> bool:
        return True

    def arrow_type(self) -> pa.DataType:
        raise UnsupportedError(
            "records of no declared type have no Arrow columns; "
            "declare one (output_type=Types...., or an annotation) where columns are needed"
        )

    def column_type(self) -> pa.DataType:
        return pa.binary()

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"
