"""Computes trees of terms over the columns of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from penstock.expressions.bound import Value
from penstock.tracing import kernels
from penstock.tracing.refusal import Unproven
from penstock.tracing.terms import ARROW_TYPES, Column, Computed, Constant, Record, Term
from penstock.tracing.trees import Checked, Leaf, Raises, Tree


class Rows:
    """Some records as columns, and what has been computed for them."""

    def __init__(self, columns: Sequence[pa.Array], count: int) -> None:
        self._columns = columns
        self.count = count
        self._values: dict[int, Value] = {}

    def column(self, place: int) -> pa.Array:
        """A column as it is."""
        return self._columns[place]

    def raw(self, path: Sequence[int]) -> pa.Array:
        """A field as it is."""
        column = self.column(path[0])
        for place in path[1:]:
            if column.null_count:
                raise Unproven  # an attribute of None
            column = column.flatten()[place]
        return column

    def value(self, term: Term) -> Value:
        """The values of a term, in the form that kernels compute with."""
        known = self._values.get(id(term))
        if known is None:
            known = self._values[id(term)] = self._computed(term)
        return known

    def _computed(self, term: Term) -> Value:
        if isinstance(term, Computed):
            operands = [self.value(operand) for operand in term.operands]
            if not term.takes_none and any(operand.null_count for operand in operands if isinstance(operand, pa.Array)):
                raise Unproven
            return term.kernel(*operands)
        if isinstance(term, Constant):
            assert term.scalar is not None
            return term.scalar
        assert isinstance(term, Column | Record)
        column = self.raw(term.path)
        arrow_type = ARROW_TYPES.get(term.kind)
        return column if arrow_type is None or column.type == arrow_type else column.cast(arrow_type)

    def where(self, condition: pa.Array) -> Rows:
        """The records that meet a condition."""
        return _SomeRows(self, condition)


class _SomeRows(Rows):
    """The rows that meet a condition; columns are filtered when they are asked for."""

    def __init__(self, rows: Rows, condition: pa.Array) -> None:
        super().__init__((), condition.true_count)
        self._rows = rows
        self._condition = condition
        self._filtered: dict[int, pa.Array] = {}

    def column(self, place: int) -> pa.Array:
        if place not in self._filtered:
            self._filtered[place] = self._rows.column(place).filter(self._condition)
        return self._filtered[place]


Emit = Callable[[Term, Rows], list[Value]]
"""What is made of a value that the function returns: one value per column of the result."""


def evaluate(tree: Tree, rows: Rows, emit: Emit) -> list[Value]:
    """What a function returns for the records; raises where only Python knows."""
    return _Evaluation(emit).values(tree, rows, speculative=False)


class _Evaluation:
    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._known: dict[tuple[int, int], list[Value]] = {}
        self._kept: list[Rows] = []

    def values(self, tree: Tree, rows: Rows, *, speculative: bool) -> list[Value]:
        """The values for all rows. While speculative, nothing is tried twice: the caller has another way."""
        key = (id(tree), id(rows))
        known = self._known.get(key)
        if known is None:
            self._kept.append(rows)  # as long as its id is a key
            known = self._known[key] = self._values(tree, rows, speculative)
        return known

    def _values(self, tree: Tree, rows: Rows, speculative: bool) -> list[Value]:
        if isinstance(tree, Leaf):
            return self._emit(tree.term, rows)
        if isinstance(tree, Raises):
            raise Unproven
        if isinstance(tree, Checked):
            for term in tree.terms:
                rows.value(term)
            return self.values(tree.then, rows, speculative=speculative)
        condition = rows.value(tree.condition)
        assert isinstance(condition, pa.Array)
        met = condition.true_count
        if met == rows.count:
            return self.values(tree.when_true, rows, speculative=speculative)
        if met == 0:
            return self.values(tree.when_false, rows, speculative=speculative)
        try:
            first = self.values(tree.when_true, rows, speculative=True)
            second = self.values(tree.when_false, rows, speculative=True)
        except Exception:
            if speculative:
                raise
            return self._each_on_its_own(tree.when_true, tree.when_false, condition, rows)
        return [kernels.chosen(condition, *pair) for pair in zip(first, second, strict=True)]

    def _each_on_its_own(self, when_true: Tree, when_false: Tree, condition: pa.Array, rows: Rows) -> list[Value]:
        """Each way for the records that take it: what it raises for the others is not asked for."""
        met, unmet = rows.where(condition), rows.where(kernels.inverted(condition))
        first = self.values(when_true, met, speculative=False)
        second = self.values(when_false, unmet, speculative=False)
        return [
            kernels.scattered(condition, kernels.expanded(left, met.count), kernels.expanded(right, unmet.count))
            for left, right in zip(first, second, strict=True)
        ]
