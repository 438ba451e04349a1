"""Expressions: what a record is mapped to, filtered by or keyed by, computed for many records at once."""

from penstock.expressions.aggregates import Aggregate, avg, count, max_, min_, sum_, window_end, window_start
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
    "Aggregate",
    "Expression",
    "When",
    "avg",
    "coalesce",
    "col",
    "concat",
    "count",
    "greatest",
    "least",
    "lit",
    "max_",
    "min_",
    "row",
    "sum_",
    "this",
    "when",
    "window_end",
    "window_start",
]
