"""Functions of lists and maps, and the making of lists."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.errors import PlanError, TypeMismatchError
from penstock.common.typeinfo import CollectionTypeInfo, MapTypeInfo, TypeInformation, Types
from penstock.expressions import collection_kernels
from penstock.expressions.bound import BoundExpression, BoundField, BoundKernel, Rows, Value, converted
from penstock.expressions.comparison import comparable
from penstock.expressions.conditional import in_common_type
from penstock.expressions.operation import FunctionOperation, MethodOperation, require, unsuitable
from penstock.expressions.text_kernels import by_distinct
from penstock.expressions.type_rules import (
    BOOLEAN,
    LONG,
    STRING,
    ExpressionType,
    is_big,
    is_integer,
    is_list,
    is_ordered,
    is_text,
)
from penstock.state.key_encoding import encode_key


def element_type(given: ExpressionType) -> TypeInformation:
    """The type of a list's elements."""
    assert isinstance(given, CollectionTypeInfo)
    return given.element_type


@dataclass(frozen=True)
class Size(MethodOperation):
    """The number of elements of a list, or of entries of a map."""

    @property
    def method(self) -> str:
        return "size"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, lambda given: is_list(given) or isinstance(given, MapTypeInfo), "a list or a map")
        return BoundKernel(text, LONG, operands, collection_kernels.sizes)


@dataclass(frozen=True)
class ElementAt(MethodOperation):
    """An element of a list."""

    @property
    def method(self) -> str:
        return "element_at"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        elements, place = operands
        require(text, (elements,), is_list, "a list (of a map, `.map_value(key)` is a value)")
        require(text, (place,), is_integer, "a place in the list")
        operands = (elements, converted(place, LONG))
        return BoundKernel(text, element_type(elements.type), operands, collection_kernels.elements_at)


@dataclass(frozen=True)
class ArrayContains(MethodOperation):
    """Whether a list has a value among its elements."""

    @property
    def method(self) -> str:
        return "array_contains"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        elements, value = operands
        require(text, (elements,), is_list, "a list")
        compared = (
            BoundField(f"an element of {elements.text}", element_type(elements.type), 0),
            BoundField(value.text, value.type, 1),
        )
        equal = BoundKernel(text, BOOLEAN, *comparable(text, "==", compared))

        def is_equal(element: pa.Array, other: pa.Array) -> pa.Array:
            return equal.column(Rows([element, other], len(element)))

        return BoundKernel(
            text, BOOLEAN, operands, lambda lists, other: collection_kernels.contained(lists, other, is_equal)
        )


@dataclass(frozen=True)
class ArrayJoin(MethodOperation):
    """The texts of a list as one."""

    separator: str

    @property
    def method(self) -> str:
        return "array_join"

    @property
    def arguments(self) -> Sequence[object]:
        return (self.separator,)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        (operand,) = operands
        if not (is_list(operand.type) and is_text(element_type(operand.type))):
            raise unsuitable(text, operand, "a list of texts")
        separator = self.separator
        return BoundKernel(text, STRING, operands, lambda value: collection_kernels.joined_elements(value, separator))


@dataclass(frozen=True)
class MapValue(MethodOperation):
    """The value of a key of a map."""

    key: Any

    @property
    def method(self) -> str:
        return "map_value"

    @property
    def arguments(self) -> Sequence[object]:
        return (self.key,)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        (operand,) = operands
        if not isinstance(operand.type, MapTypeInfo):
            raise unsuitable(text, operand, "a map")
        try:
            key = codec_for(operand.type.key_type).to_columns([self.key])[0][0]
        except TypeMismatchError as error:
            raise PlanError(f"`{text}`: the keys of `{operand.text}` are {operand.type.key_type!r}: {error}") from None
        return BoundKernel(
            text, operand.type.value_type, operands, lambda value: collection_kernels.values_of_key(value, key)
        )


@dataclass(frozen=True)
class MakeArray(FunctionOperation):
    """A list of values."""

    @property
    def function(self) -> str:
        return "array"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        parts = in_common_type(text, operands)
        if parts[0].type is None:
            raise PlanError(f"`{text}` has no type; give one of its values a type: `lit(None).cast(...)`")
        return _BoundArray(text, parts)


class _BoundArray(BoundExpression):
    def __init__(self, text: str, parts: Sequence[BoundExpression]) -> None:
        assert parts[0].type is not None
        super().__init__(text, Types.LIST(parts[0].type))
        self._parts = tuple(parts)

    def evaluate(self, rows: Rows) -> Value:
        return collection_kernels.lists_of([part.column(rows) for part in self._parts])


@dataclass(frozen=True)
class Hash(MethodOperation):
    """A number of 64 bits that follows from the value alone."""

    @property
    def method(self) -> str:
        return "hash64"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        (operand,) = operands
        if not is_ordered(operand.type) or is_big(operand.type):
            raise unsuitable(text, operand, "a number, a text, a boolean, a date, a time or bytes")
        return BoundKernel(text, LONG, operands, lambda value: by_distinct(value, _hash, pa.int64()))


def _hash(value: object) -> int:
    """Of the bytes that keys of state have: they never change."""
    return int.from_bytes(blake2b(encode_key(value), digest_size=8).digest(), "little", signed=True)


@dataclass(frozen=True)
class Explode(FunctionOperation):
    """The elements of a list, a record for each."""

    @property
    def function(self) -> str:
        return "explode"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        raise PlanError(
            f"`{text}` makes several records of one: pass it to `flat_map`, alone or as one field of a row or a tuple"
        )
