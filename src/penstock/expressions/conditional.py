"""What asks only some of its operands: `when`, `coalesce`, `&`, `|`; and `~`, `least`, `greatest`.

All operands are computed for all rows, which is fastest, unless they are costly. Where one of them fails, each is
computed again, but for those rows only that need it: `when(n != 0, total / n)` divides by no zero.
"""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.errors import PlanError
from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation
from penstock.expressions.bound import (
    EVALUATION_ERRORS,
    BoundExpression,
    BoundKernel,
    Places,
    Rows,
    Value,
    converted,
    scattered,
)
from penstock.expressions.comparison import comparable
from penstock.expressions.operation import FunctionOperation, InfixOperation, Operation, require
from penstock.expressions.type_rules import BOOLEAN, common_type, is_boolean, shown


def in_common_type(text: str, operands: Sequence[BoundExpression]) -> list[BoundExpression]:
    """The operands in a type that holds the values of all."""
    try:
        target = common_type(operand.type for operand in operands)
    except ValueError:
        listed = ", ".join(f"`{operand.text}` is {shown(operand.type)}" for operand in operands)
        raise PlanError(f"the values of `{text}` have no common type: {listed}; `.cast(...)` changes one") from None
    return [converted(operand, target) for operand in operands]


def _places(mask: pa.Array) -> Places:
    return np.flatnonzero(_truth(mask))


def _truth(mask: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return pc.fill_null(mask, False).to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class CaseWhen(Operation):
    """The value of the first condition that is true. Operands: condition, value, condition, value, ..., otherwise."""

    encloses_operands = False

    def render(self, operands: Sequence[str]) -> str:
        *branches, otherwise = operands
        pairs = zip(branches[::2], branches[1::2], strict=True)
        return ".".join((*(f"when({condition}, {value})" for condition, value in pairs), f"otherwise({otherwise})"))

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        *branches, otherwise = operands
        conditions, values = branches[::2], branches[1::2]
        require(text, conditions, is_boolean, "conditions that are true or false")
        return BoundCase(text, conditions, in_common_type(text, (*values, otherwise)))


class BoundCase(BoundExpression):
    """`when ... otherwise`; there is one more value than conditions."""

    def __init__(self, text: str, conditions: Sequence[BoundExpression], values: Sequence[BoundExpression]) -> None:
        super().__init__(text, values[-1].type)
        self._conditions = tuple(conditions)
        self._values = tuple(values)
        self._has_costly_values = any(value.is_costly for value in values)
        self.is_costly = self._has_costly_values or any(condition.is_costly for condition in conditions)

    def evaluate(self, rows: Rows) -> Value:
        try:
            return self._chosen_values(rows) if self._has_costly_values else self._for_all(rows)
        except EVALUATION_ERRORS:
            return self._for_those_that_need_it(rows)

    def _for_all(self, rows: Rows) -> Value:
        *values, result = (value.evaluate(rows) for value in self._values)
        for condition, value in reversed(list(zip(self._conditions, values, strict=True))):
            result = pc.if_else(pc.fill_null(condition.evaluate(rows), False), value, result)
        return result

    def _chosen_values(self, rows: Rows) -> pa.Array:
        """All conditions for all rows, and each value for the rows that need it."""
        undecided = np.ones(rows.count, np.bool_)
        places: list[Places] = []
        for condition in self._conditions:
            places.append(np.flatnonzero(_truth(condition.column(rows)) & undecided))
            undecided[places[-1]] = False
        places.append(np.flatnonzero(undecided))
        parts = [value.column(rows.at(chosen)) for value, chosen in zip(self._values, places, strict=True)]
        return scattered(parts, places)

    def _for_those_that_need_it(self, rows: Rows) -> pa.Array:
        pending: Places = np.arange(rows.count)
        parts: list[pa.Array] = []
        places: list[Places] = []
        for condition, value in zip(self._conditions, self._values, strict=False):
            chosen = _places(condition.column(rows.at(pending)))
            places.append(pending[chosen])
            parts.append(value.column(rows.at(places[-1])))
            pending = np.delete(pending, chosen)
        places.append(pending)
        parts.append(self._values[-1].column(rows.at(pending)))
        return scattered(parts, places)


@dataclass(frozen=True)
class Coalesce(FunctionOperation):
    """The first operand that is not null."""

    @property
    def function(self) -> str:
        return "coalesce"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        return BoundCoalesce(text, in_common_type(text, operands))


class BoundCoalesce(BoundExpression):
    """The first of several values that is not null."""

    def __init__(self, text: str, values: Sequence[BoundExpression]) -> None:
        super().__init__(text, values[-1].type)
        self._values = tuple(values)
        self._has_costly_values = any(value.is_costly for value in values[1:])
        self.is_costly = any(value.is_costly for value in values)

    def evaluate(self, rows: Rows) -> Value:
        if self._has_costly_values:
            return self._for_those_that_need_it(rows)
        try:
            return pc.coalesce(*(value.evaluate(rows) for value in self._values))
        except EVALUATION_ERRORS:
            return self._for_those_that_need_it(rows)

    def _for_those_that_need_it(self, rows: Rows) -> pa.Array:
        pending: Places = np.arange(rows.count)
        parts: list[pa.Array] = []
        places: list[Places] = []
        for value in self._values[:-1]:
            computed = value.column(rows.at(pending))
            found = _places(pc.is_valid(computed))
            places.append(pending[found])
            parts.append(computed.take(pa.array(found)))
            pending = np.delete(pending, found)
        places.append(pending)
        parts.append(self._values[-1].column(rows.at(pending)))
        return scattered(parts, places)


@dataclass(frozen=True)
class Junction(InfixOperation):
    """`&` and `|`: the right side is not asked where the left side decides."""

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(
            text, operands, is_boolean, "booleans on both sides (comparisons need parentheses: `(a > 1) & (b > 2)`)"
        )
        return BoundJunction(text, operands[0], operands[1], is_and=self.symbol == "&")


class BoundJunction(BoundExpression):
    """`&` and `|` of SQL's three values: true, false and null."""

    def __init__(self, text: str, left: BoundExpression, right: BoundExpression, *, is_and: bool) -> None:
        super().__init__(text, BOOLEAN)
        self._left = left
        self._right = right
        self._is_and = is_and

    def evaluate(self, rows: Rows) -> Value:
        combine = pc.and_kleene if self._is_and else pc.or_kleene
        left = self._left.evaluate(rows)
        try:
            return combine(left, self._right.evaluate(rows))
        except EVALUATION_ERRORS:
            left = self._left.column(rows)
            decided = _places(pc.invert(left) if self._is_and else left)
            undecided = np.delete(np.arange(rows.count), decided)
            right = scattered(
                [pa.nulls(len(decided), pa.bool_()), self._right.column(rows.at(undecided))], [decided, undecided]
            )
            return combine(left, right)


@dataclass(frozen=True)
class Not(Operation):
    """`~`: true for false; null stays null."""

    @property
    def is_infix(self) -> bool:
        return True

    def render(self, operands: Sequence[str]) -> str:
        return f"~{operands[0]}"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_boolean, "a boolean")
        return BoundKernel(text, BOOLEAN, operands, pc.invert)


@dataclass(frozen=True)
class Extreme(FunctionOperation):
    """`least` and `greatest`: the first of equals; null where one of the operands is null."""

    name: str

    @property
    def function(self) -> str:
        return self.name

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        first, *others = in_common_type(text, operands)
        _, compare = comparable(text, "<" if self.name == "least" else ">", (first, first))
        extreme: BoundExpression = first
        for other in others:
            extreme = BoundKernel(
                text, first.type, (extreme, other), lambda one, two: pc.if_else(compare(two, one), two, one)
            )
        return extreme
