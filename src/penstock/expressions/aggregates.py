"""Aggregates: what is made of the records of a window, said instead of programmed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.common.errors import PlanError
from penstock.common.typeinfo import TypeInformation
from penstock.expressions.argument_checks import refused
from penstock.expressions.constructors import col
from penstock.expressions.evaluator import Evaluator
from penstock.expressions.expression import Expression
from penstock.expressions.type_rules import DOUBLE, LONG, is_integer, is_number, is_ordered, shown


class AggregateKind(Enum):
    """What is made of the values."""

    SUM = "sum_"
    COUNT = "count"
    MIN = "min_"
    MAX = "max_"
    AVERAGE = "avg"
    WINDOW_START = "window_start"
    WINDOW_END = "window_end"


_OF_WINDOW = (AggregateKind.WINDOW_START, AggregateKind.WINDOW_END)


@dataclass(frozen=True, repr=False)
class Aggregate:
    """One value of a window: made by `sum_`, `count`, `min_`, `max_`, `avg`, `window_start` or `window_end`."""

    kind: AggregateKind
    expression: Expression | None = None

    @property
    def is_of_window(self) -> bool:
        """Whether it tells the window's time, whatever the records are."""
        return self.kind in _OF_WINDOW

    def input_type(self, record_type: TypeInformation) -> TypeInformation | None:
        """The type of the values that it is made of; None where it needs none."""
        return None if self.expression is None else Evaluator(self.expression, record_type).type

    def result_type(self, record_type: TypeInformation) -> TypeInformation:
        """The type of its result; raises `PlanError` where the values do not suit it."""
        values = self.input_type(record_type)
        if self.kind in (AggregateKind.COUNT, *_OF_WINDOW):
            return LONG
        assert values is not None
        suits = is_ordered if self.kind in (AggregateKind.MIN, AggregateKind.MAX) else is_number
        if not suits(values):
            expected = "values that have an order" if suits is is_ordered else "numbers of at most 64 bits"
            raise PlanError(f"`{self}`: the values are {shown(values)}; expected {expected}")
        if self.kind is AggregateKind.SUM:
            return LONG if is_integer(values) else DOUBLE
        return DOUBLE if self.kind is AggregateKind.AVERAGE else values

    def __repr__(self) -> str:
        return f"{self.kind.value}({'' if self.expression is None else self.expression.text})"


def sum_(value: str | Expression) -> Aggregate:
    """The sum of a field or an expression. None is left out; the sum of nothing is None.

    Sums of integers are integers of 64 bits; one that does not fit fails the job.

    >>> sum_("price")
    sum_(col("price"))
    """
    return Aggregate(AggregateKind.SUM, _values("sum_", value))


def count(value: str | Expression | None = None) -> Aggregate:
    """How many records there are; with a field or an expression, how many for which it is not None.

    >>> count()
    count()
    """
    return Aggregate(AggregateKind.COUNT, None if value is None else _values("count", value))


def min_(value: str | Expression) -> Aggregate:
    """The least value of a field or an expression. None, and NaN beside numbers, are left out."""
    return Aggregate(AggregateKind.MIN, _values("min_", value))


def max_(value: str | Expression) -> Aggregate:
    """The greatest value of a field or an expression. None, and NaN beside numbers, are left out."""
    return Aggregate(AggregateKind.MAX, _values("max_", value))


def avg(value: str | Expression) -> Aggregate:
    """The mean of a field or an expression. None is left out; the mean of nothing is None.

    >>> avg(col("price") * col("quantity"))
    avg(col("price") * col("quantity"))
    """
    return Aggregate(AggregateKind.AVERAGE, _values("avg", value))


def window_start() -> Aggregate:
    """Where the window begins, in ms."""
    return Aggregate(AggregateKind.WINDOW_START)


def window_end() -> Aggregate:
    """Where the window ends, in ms: the first that is not in it."""
    return Aggregate(AggregateKind.WINDOW_END)


def _values(function: str, value: object) -> Expression:
    if isinstance(value, Expression):
        return value
    if isinstance(value, str):
        return col(value)
    raise refused(f"{function} takes the name of a field or an expression, got {value!r}")
