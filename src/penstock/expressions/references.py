"""The leaves of expressions: fields of the record, the record itself, values."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.errors import PlanError
from penstock.common.type_inference import infer_type_of_values
from penstock.common.typeinfo import CollectionTypeInfo, CompositeTypeInfo, MapTypeInfo, TypeInformation
from penstock.expressions.argument_checks import refused
from penstock.expressions.bound import BoundExpression, BoundField, BoundLiteral, Rows, Value
from penstock.expressions.operation import Operation, quoted
from penstock.expressions.type_rules import LONG


@dataclass(frozen=True)
class FieldReference(Operation):
    """A field of the record, by name or by place."""

    field: str | int

    def render(self, operands: Sequence[str]) -> str:
        return f"col({quoted(self.field)})"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        if not isinstance(record_type, CompositeTypeInfo):
            raise PlanError(
                f"`{text}`: the records are {record_type!r} and have no fields; `this()` stands for the record itself"
            )
        place = place_of_field(text, self.field, record_type)
        return BoundField(text, record_type.get_field_types()[place], place)


def place_of_field(text: str, field: str | int, composite: CompositeTypeInfo) -> int:
    """The place of a field that the program names."""
    names = composite.get_field_names()
    place = composite.get_field_index(field) if isinstance(field, str) else field
    if not 0 <= place < len(names):
        raise PlanError(f"`{text}`: there is no field {field!r}; there are {', '.join(names)} ({composite!r})")
    return place


@dataclass(frozen=True)
class RecordReference(Operation):
    """The record itself."""

    def render(self, operands: Sequence[str]) -> str:
        return "this()"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        if isinstance(record_type, CompositeTypeInfo):
            return BoundRecord(text, record_type)
        return BoundField(text, record_type, 0)


class BoundRecord(BoundExpression):
    """All columns of the records as one."""

    def __init__(self, text: str, record_type: CompositeTypeInfo) -> None:
        super().__init__(text, record_type)
        self._fields = record_type.arrow_fields()

    def evaluate(self, rows: Rows) -> Value:
        return pa.StructArray.from_arrays(rows.columns, fields=self._fields)


@dataclass(frozen=True)
class Literal(Operation):
    """A value of the program."""

    value: Any

    def render(self, operands: Sequence[str]) -> str:
        return quoted(self.value)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        if self.value is None:
            return BoundLiteral(text, None, None, pa.scalar(None))
        literal_type = infer_type_of_values([self.value])
        scalar = codec_for(literal_type).to_columns([self.value])[0][0]
        return BoundLiteral(text, literal_type, self.value, scalar)


def literal(value: Any) -> Literal:
    """A literal, refused at the user's line where no column can hold the value."""
    if isinstance(value, np.generic):
        value = value.item()
    inferred = LONG if value is None else infer_type_of_values([value])
    has_parts = isinstance(inferred, CompositeTypeInfo | MapTypeInfo) or (
        isinstance(inferred, CollectionTypeInfo) and not isinstance(value, bytes)
    )
    if inferred.is_pickled or has_parts:
        reason = (
            "an integer of an expression has 64 bits"
            if isinstance(value, int)
            else "expected an expression, or a number, a text, bytes, a boolean, a date, a time or None"
        )
        raise refused(f"{value!r} ({type(value).__name__}) cannot stand in an expression; {reason}")
    return Literal(value)
