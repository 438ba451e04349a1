"""Rows and tuples made of values, and values taken out of them."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.common.errors import InvalidTypeError, PlanError
from penstock.common.typeinfo import CompositeTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.expressions.bound import BoundExpression, BoundKernel, Rows, Value
from penstock.expressions.operation import MethodOperation, Operation, unsuitable
from penstock.expressions.references import place_of_field


class BoundConstruction(BoundExpression):
    """A value with fields, one part for each."""

    def __init__(self, text: str, result_type: CompositeTypeInfo, parts: Sequence[BoundExpression]) -> None:
        super().__init__(text, result_type)
        self.parts = tuple(parts)
        self._fields = result_type.arrow_fields()

    def evaluate(self, rows: Rows) -> Value:
        return pa.StructArray.from_arrays([part.column(rows) for part in self.parts], fields=self._fields)


def _types(text: str, parts: Sequence[BoundExpression]) -> list[TypeInformation]:
    types: list[TypeInformation] = []
    for part in parts:
        if part.type is None:
            raise PlanError(f"`{part.text}` in `{text}` has no type; give it one: `lit(None).cast(...)`")
        types.append(part.type)
    return types


@dataclass(frozen=True)
class MakeRow(Operation):
    """A `Row` with fields of the given names."""

    encloses_operands = False

    names: tuple[str, ...]

    def render(self, operands: Sequence[str]) -> str:
        return f"row({', '.join(f'{name}={value}' for name, value in zip(self.names, operands, strict=True))})"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        try:
            return BoundConstruction(text, RowTypeInfo(_types(text, operands), self.names), operands)
        except InvalidTypeError as error:
            raise PlanError(f"`{text}`: {error}") from None


@dataclass(frozen=True)
class MakeTuple(Operation):
    """A tuple."""

    encloses_operands = False

    def render(self, operands: Sequence[str]) -> str:
        return f"({', '.join(operands)}{',' if len(operands) == 1 else ''})"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        return BoundConstruction(text, TupleTypeInfo(_types(text, operands)), operands)


@dataclass(frozen=True)
class Member(MethodOperation):
    """A field of a value that has fields."""

    field: str | int

    @property
    def method(self) -> str:
        return "field"

    @property
    def arguments(self) -> Sequence[object]:
        return (self.field,)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        (operand,) = operands
        if not isinstance(operand.type, CompositeTypeInfo):
            raise unsuitable(text, operand, "a row, a tuple, a dataclass or a named tuple")
        return member(operand, place_of_field(text, self.field, operand.type), text)


def member(operand: BoundExpression, place: int, text: str | None = None) -> BoundExpression:
    """One field of an operand that has fields; null where the operand is null."""
    assert isinstance(operand.type, CompositeTypeInfo)
    if isinstance(operand, BoundConstruction):
        return operand.parts[place]
    name = operand.type.get_field_names()[place]
    # Not `field()`: it leaves out the nulls of the struct itself.
    return BoundKernel(
        text or f"{operand.text}.{name}",
        operand.type.get_field_types()[place],
        (operand,),
        lambda value: value.flatten()[place],
    )


@dataclass(frozen=True)
class Alias(MethodOperation):
    """A value with a name, for the rows that it goes into."""

    name: str

    @property
    def method(self) -> str:
        return "alias"

    @property
    def arguments(self) -> Sequence[object]:
        return (self.name,)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        return operands[0]
