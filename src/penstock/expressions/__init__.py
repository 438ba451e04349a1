"""Expressions: what a record is mapped to, filtered by or keyed by, computed for many records at once."""

from penstock.expressions.constructors import (
    When,
    coalesce,
    col,
    concat,
    greatest,
    least,
    lit,
    row,
    this,
    when,
)
from penstock.expressions.expression import Expression

__all__ = [
    "Expression",
    "When",
    "coalesce",
    "col",
    "concat",
    "greatest",
    "least",
    "lit",
    "row",
    "this",
    "when",
]
