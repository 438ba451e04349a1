"""Expressions that have a value for every record: computing them earlier, or not at all, hides no failure."""

from __future__ import annotations

from penstock.expressions import Expression
from penstock.expressions.comparison import Comparison, IsIn, IsNan, IsNull
from penstock.expressions.conditional import Junction, Not
from penstock.expressions.construction import Alias, MakeRow, MakeTuple
from penstock.expressions.expression_parts import parts_of
from penstock.expressions.references import FieldReference, Literal, RecordReference

_NEVER_FAIL = (
    FieldReference,
    RecordReference,
    Literal,
    Alias,
    MakeRow,
    MakeTuple,
    Comparison,
    IsIn,
    IsNan,
    IsNull,
    Junction,
    Not,
)


def is_total(expression: Expression) -> bool:
    """Whether the expression can be computed for any record of its type."""
    return all(isinstance(part.operation, _NEVER_FAIL) for part in parts_of(expression))
