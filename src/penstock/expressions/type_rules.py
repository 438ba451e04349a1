"""Which types go together in an expression, and what comes out.

Integers are computed in 64 bits, floating-point numbers in double precision, as Python does; a field keeps its type
until something is computed from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    DateTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)

ExpressionType = TypeInformation | None
"""None is the type of `lit(None)`, which goes with every other."""

LONG = Types.LONG()
DOUBLE = Types.DOUBLE()
STRING = Types.STRING()
BOOLEAN = Types.BOOLEAN()

# By their width: the later one holds all values of those before.
_INTEGERS = (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG)
_FLOATS = (BasicType.FLOAT, BasicType.DOUBLE)
_TEXTS = (BasicType.CHAR, BasicType.STRING)
_BIG = (BasicType.BIG_INT, BasicType.BIG_DEC)


def _is_one_of(given: ExpressionType, basic_types: Sequence[BasicType]) -> bool:
    return isinstance(given, BasicTypeInfo) and given.basic_type in basic_types


def is_integer(given: ExpressionType) -> bool:
    """BYTE, SHORT, INT, LONG."""
    return _is_one_of(given, _INTEGERS)


def is_float(given: ExpressionType) -> bool:
    """FLOAT, DOUBLE."""
    return _is_one_of(given, _FLOATS)


def is_number(given: ExpressionType) -> bool:
    """Numbers that are computed with; BIG_INT and BIG_DEC travel as text and are not."""
    return is_integer(given) or is_float(given)


def is_text(given: ExpressionType) -> bool:
    """STRING, CHAR."""
    return _is_one_of(given, _TEXTS)


def is_big(given: ExpressionType) -> bool:
    """BIG_INT, BIG_DEC."""
    return _is_one_of(given, _BIG)


def is_boolean(given: ExpressionType) -> bool:
    """BOOLEAN."""
    return given == BOOLEAN


def is_temporal(given: ExpressionType) -> bool:
    """SQL_DATE, SQL_TIME, SQL_TIMESTAMP."""
    return isinstance(given, DateTypeInfo | TimeTypeInfo | TimestampTypeInfo)


def is_bytes(given: ExpressionType) -> bool:
    """PRIMITIVE_ARRAY(BYTE)."""
    return isinstance(given, PrimitiveArrayTypeInfo) and given.is_bytes


def is_list(given: ExpressionType) -> bool:
    """LIST and the types of arrays, but bytes."""
    return isinstance(given, CollectionTypeInfo) and not is_bytes(given)


def is_ordered(given: ExpressionType) -> bool:
    """Types whose values can be compared by kernels."""
    return is_number(given) or is_text(given) or is_boolean(given) or is_temporal(given) or is_bytes(given)


def are_comparable(left: ExpressionType, right: ExpressionType) -> bool:
    """Whether `==` and `<` between the two mean something."""
    if is_number(left) and is_number(right):
        return True
    if is_text(left) and is_text(right):
        return True
    return is_ordered(left) and left == right


def common_type(types: Iterable[ExpressionType]) -> ExpressionType:
    """The type of a column that takes values of all of them; raises `ValueError` where there is none."""
    common: ExpressionType = None
    for each in types:
        common = _wider(common, each)
    return common


def _wider(left: ExpressionType, right: ExpressionType) -> ExpressionType:
    if left is None or right is None:
        return left or right
    if left.exact_key() == right.exact_key():
        return left
    for group in (_INTEGERS, _FLOATS, _TEXTS):
        if _is_one_of(left, group) and _is_one_of(right, group):
            return max(left, right, key=lambda each: group.index(each.basic_type))  # type: ignore[attr-defined]
    if is_number(left) and is_number(right):
        return DOUBLE
    raise ValueError(f"{left!r} and {right!r} have no common type")


def shown(given: ExpressionType) -> str:
    """A type as messages show it."""
    return "None" if given is None else repr(given)
