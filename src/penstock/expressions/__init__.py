"""Expressions: what a record is mapped to, filtered by or keyed by, computed for many records at once."""

from penstock.expressions.aggregates import Aggregate, avg, count, max_, min_, sum_, window_end, window_start
from penstock.expressions.constructors import (
    When,
    array,
    coalesce,
    col,
    concat,
    concat_ws,
    explode,
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
    "array",
    "avg",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "count",
    "explode",
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
