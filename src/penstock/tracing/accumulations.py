"""Aggregate functions that add up integers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.typeinfo import CompositeTypeInfo, TupleTypeInfo, TypeInformation, Types
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.functions.aggregation import AggregateFunction
from penstock.tracing import kernels
from penstock.tracing.evaluation import Rows
from penstock.tracing.execution import Captures, Execution
from penstock.tracing.functions import place_of, plain_function
from penstock.tracing.operations import Operations
from penstock.tracing.refusal import Located, NotTraceable, Unproven, refusing
from penstock.tracing.terms import Column, Composite, Computed, Constant, Form, Kind, Record, Term, argument
from penstock.tracing.trees import Leaf, Tree, parts_of
from penstock.windows.accumulation import Accumulation


class _Sums(NamedTuple):
    """What is added to each sum."""

    added: tuple[Term, ...]
    is_tuple: bool
    captures: Captures


class TracedAccumulation(Accumulation):
    """The sums of a function whose accumulator is an integer or a tuple of them.

    It begins with zeros, and `add` adds to each of them something that depends on the record alone. Where columns
    cannot say what that is, `add` itself is called with the record and an empty accumulator.
    """

    def __init__(self, function: AggregateFunction, record_type: TypeInformation) -> None:
        self._function = function
        self._record_type = record_type

    @cached_property
    def _sums(self) -> _Sums:
        """Made where it is needed, of the function as it has come there; raises `NotTraceable`."""
        with refusing() as located:
            return _trace(self._function, self._record_type, located)

    @property
    def width(self) -> int:
        """How many sums there are; raises `NotTraceable` where the function does something else."""
        return len(self._sums.added)

    def of_records(self, columns: Sequence[pa.Array], count: int) -> list[pa.Array]:
        """What each record adds to each sum."""
        # What Python says of records of which columns say nothing, Python is asked for; not while an exception is
        # handled, which a report of the function's own would begin with.
        with suppress(Exception):
            return self._in_columns(columns, count)
        return self._by_function(columns)

    def result(self, sums: Sequence[int]) -> Any:
        """What the function makes of its accumulator."""
        return self._function.get_result(tuple(sums) if self._sums.is_tuple else sums[0])

    def _in_columns(self, columns: Sequence[pa.Array], count: int) -> list[pa.Array]:
        if not self._sums.captures.still_hold():
            raise Unproven
        rows = Rows(columns, count)
        made = [kernels.expanded(rows.value(term), count).cast(pa.int64()) for term in self._sums.added]
        if any(column.null_count for column in made):
            raise Unproven
        return made

    def _by_function(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        added: list[list[int]] = []
        for place, value in enumerate(codec_for(self._record_type).to_values(columns)):
            try:
                accumulator = self._function.add(value, self._function.create_accumulator())
                sums = accumulator if self._sums.is_tuple else (accumulator,)
                added.append(_in_64_bits(sums))
            except Exception as error:
                raise RecordEvaluationError(place, error) from error
        return [pa.array(column, pa.int64()) for column in zip(*added, strict=True)]

    def __str__(self) -> str:
        return ", ".join(f"sum of {term.text}" for term in self._sums.added)

    def __reduce__(self) -> tuple[Any, ...]:
        return TracedAccumulation, (self._function, self._record_type)


def _in_64_bits(sums: Sequence[int]) -> list[int]:
    try:
        return pa.array(sums, pa.int64()).to_pylist()
    except OverflowError:
        raise OverflowError("a sum of integers does not fit into 64 bits") from None


def _trace(function: AggregateFunction, record_type: TypeInformation, located: Located) -> _Sums:
    if record_type.is_pickled:
        raise NotTraceable("the records have no declared type")
    operations, captures = Operations(), Captures()
    execution = Execution(operations, captures)
    empty, owner = plain_function(function, "create_accumulator")
    located.place = place_of(empty)
    width, is_tuple = _zeros(execution.run(empty, owner))
    fields = len(record_type.get_field_names()) if isinstance(record_type, CompositeTypeInfo) else 1
    record = argument(record_type, "value")
    accumulator: Term
    if is_tuple:
        accumulator = Record((fields,), TupleTypeInfo([Types.LONG()] * width), "accumulator")
        before = operations.fields(accumulator)
    else:
        accumulator = Column((fields,), Types.LONG(), "accumulator")
        before = [accumulator]
    add, owner = plain_function(function, "add")
    located.place = place_of(add)
    tree = execution.run(add, [*owner, record, accumulator])
    if captures.decide or any(_reads(term, fields) for term in captures.given):
        # Where columns do not say what is added, `add` does: but only as long as it adds at all.
        raise NotTraceable("what it captures decides how it adds, and may be changed")
    if not isinstance(tree, Leaf):
        raise NotTraceable(f"`{tree.text}` adds to the accumulator by conditions")
    after = _items(tree.term, is_tuple)
    if len(after) != width:
        raise NotTraceable(f"`{tree.term.text}` is another accumulator than the empty one")
    added = tuple(_added(operations, *each, fields) for each in zip(before, after, strict=True))
    return _Sums(added, is_tuple, captures)


def _zeros(tree: Tree) -> tuple[int, bool]:
    value = None
    if isinstance(tree, Leaf) and isinstance(tree.term, Constant) and not tree.term.is_captured:
        value = tree.term.value
    parts = value if isinstance(value, tuple) else (value,)
    if not parts or any(type(part) is not int or part != 0 for part in parts):
        raise NotTraceable(f"the accumulator begins with `{tree.text}`, not with zeros")
    return len(parts), isinstance(value, tuple)


def _items(term: Term, is_tuple: bool) -> Sequence[Term]:
    if not is_tuple:
        return [term]
    return term.items if isinstance(term, Composite) and term.form is Form.TUPLE else ()


def _added(operations: Operations, before: Term, after: Term, accumulator: int) -> Term:
    """What is added to a sum: equal terms are one object, so that it is known what `after` was made of."""
    if after is before:
        return operations.constant(0)
    if isinstance(after, Computed) and after.kind is Kind.INT and len(after.operands) == 2:
        for left, right in (after.operands, after.operands[::-1]):
            if left is before and not _reads(right, accumulator):
                if after in (operations.binary("+", left, right), operations.binary("+", right, left)):
                    return right
                if after is operations.binary("-", left, right):
                    return operations.unary("-", right)
    raise NotTraceable(f"`{after.text}` does not add something to `{before.text}`")


def _reads(term: Term, column: int) -> bool:
    return any(path and path[0] == column for path in (getattr(part, "path", ()) for part in parts_of(term)))
