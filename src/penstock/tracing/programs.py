"""Functions of records as programs over columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from penstock.common.kernels import pc
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation, Types
from penstock.common.watermark_generator import MIN_TIMESTAMP
from penstock.tracing import kernels
from penstock.tracing.evaluation import Rows, evaluate
from penstock.tracing.execution import Captures, Execution
from penstock.tracing.forms import type_of_results
from penstock.tracing.functions import place_of, plain_function, result_of_builtin, written_at
from penstock.tracing.operations import Operations
from penstock.tracing.refusal import NotTraceable, Unproven, refusing
from penstock.tracing.required_values import required_values
from penstock.tracing.results import results_of
from penstock.tracing.terms import Column, Composite, Record, Term, are_made_of, argument
from penstock.tracing.trees import Leaf, Tree, as_condition, checked, leaves

_LONGEST_TEXT = 200
P = TypeVar("P", bound="Program")


class Trace(Protocol):
    """The run of a function on terms."""

    captures: Captures
    tree: Tree

    @property
    def read_fields(self) -> frozenset[str] | None:
        """The fields of the record that the function looks at, whatever it captures; None where it may be any."""
        ...


class Program:
    """What a function computes from the columns of its records."""

    def __init__(self, trace: Trace, tree: Tree) -> None:
        self._captures = trace.captures
        self._tree = tree
        self.read_fields = trace.read_fields
        """The fields of the record that the function looks at, whatever it captures; None where it may be any."""

    @property
    def text(self) -> str:
        """The program as Python would write it."""
        text = self._tree.text
        return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."

    def _check_captures(self) -> None:
        if not self._captures.still_hold():
            raise Unproven


class MapProgram(Program):
    """One result per record, in columns of a type."""

    def __init__(self, trace: Trace, output_type: TypeInformation | None) -> None:
        super().__init__(trace, trace.tree)
        found = list(leaves(trace.tree))
        if not found:
            raise NotTraceable("it always raises")
        self.type = type_of_results(found) if output_type is None or output_type.is_pickled else output_type
        """Whose columns the results are."""
        self._results = {id(term): results_of(term, self.type) for term in found}

    @property
    def fields(self) -> list[int]:
        """The places of fields of the record that are, whatever is captured, the result or a part of it."""
        term = self._tree.term if isinstance(self._tree, Leaf) and not self._captures.may_change_it else None
        parts = term.items if isinstance(term, Composite) else (term,)
        return [part.path[0] for part in parts if isinstance(part, Column) and len(part.path) == 1]

    def columns(self, columns: Sequence[pa.Array], count: int) -> list[pa.Array]:
        """The columns of the results. Whatever is raised says that the function itself has to be asked."""
        self._check_captures()
        values = evaluate(
            self._tree, Rows(columns, count), lambda term, rows: [each.value(rows) for each in self._results[id(term)]]
        )
        return [kernels.expanded(value, count) for value in values]


class FilterProgram(Program):
    """Which of the records stay."""

    def __init__(self, trace: _Trace) -> None:
        super().__init__(trace, as_condition(trace.tree, trace.operations.truth, trace.operations.constant))
        self.required_values = [] if trace.captures.may_change_it else required_values(self._tree, trace.operations)
        """Fields, and the values that they have in all records that stay; what is captured may say otherwise later."""

    def mask(self, columns: Sequence[pa.Array], count: int) -> pa.Array:
        """True for each record that stays. Whatever is raised says that the function itself has to be asked."""
        self._check_captures()
        (value,) = evaluate(self._tree, Rows(columns, count), lambda term, rows: [rows.value(term)])
        return kernels.expanded(value, count)


class TimestampProgram(MapProgram):
    """The time of each record."""

    def __init__(self, trace: _Trace) -> None:
        super().__init__(trace, Types.LONG())

    def timestamps(self, columns: Sequence[pa.Array], before: pa.Array | None, count: int) -> pa.Array:
        """The times, from the records and the times that they have already."""
        if before is None:
            before = pa.repeat(pa.scalar(MIN_TIMESTAMP, pa.int64()), count)
        elif before.null_count:
            before = pc.fill_null(before, MIN_TIMESTAMP)
        (stamps,) = self.columns([*columns, before], count)
        if stamps.null_count or pc.min(stamps).as_py() <= MIN_TIMESTAMP:
            raise Unproven
        return stamps


def trace_map(function: Any, input_type: TypeInformation, output_type: TypeInformation | None) -> MapProgram:
    """The program of a function of one record; raises `NotTraceable` where there is none.

    Without an output type (or with a pickled one) the program's type is that of the very values that are returned.

    >>> from penstock.common import Types
    >>> program = trace_map(lambda n: n // 2 if n > 0 else 0, Types.LONG(), Types.LONG())
    >>> program.text
    '(n // 2) if (n > 0) else 0'
    >>> program.columns([pa.array([7, -7])], 2)[0].to_pylist()
    [3, 0]
    """
    return _traced(function, "map", input_type, 1, lambda trace: MapProgram(trace, output_type))


def trace_filter(function: Any, input_type: TypeInformation) -> FilterProgram:
    """The program of a condition on one record; raises `NotTraceable` where there is none."""
    return _traced(function, "filter", input_type, 1, FilterProgram)


def trace_key(function: Any, input_type: TypeInformation, key_type: TypeInformation | None) -> MapProgram:
    """The program of a key; raises `NotTraceable` where there is none."""
    return _traced(function, "get_key", input_type, 1, lambda trace: MapProgram(trace, key_type))


def trace_timestamps(assigner: Any, input_type: TypeInformation) -> TimestampProgram:
    """The program of a timestamp assigner; raises `NotTraceable` where there is none."""
    return _traced(assigner, "extract_timestamp", input_type, 2, TimestampProgram)


def _traced(function: Any, method: str, input_type: TypeInformation, arguments: int, make: Callable[[_Trace], P]) -> P:
    with refusing() as located:
        if input_type.is_pickled:
            raise NotTraceable("the records have no declared type", written_at(function, method))
        if arguments == 1:
            trace = _Trace(input_type, ())
            result = result_of_builtin(trace.operations, function, trace.arguments[0])
            if result is not None:
                trace.tree = checked([result], Leaf(result))
                return make(trace)
        plain, owner = plain_function(function, method)
        located.place = place_of(plain)
        trace = _Trace(input_type, plain.__code__.co_varnames[len(owner) :])
        trace.tree = Execution(trace.operations, trace.captures).run(plain, [*owner, *trace.arguments[:arguments]])
        return make(trace)


class _Trace:
    """The run of a function on a record of a type."""

    tree: Tree

    def __init__(self, input_type: TypeInformation, names: Sequence[str]) -> None:
        self.operations = Operations()
        self.captures = Captures()
        first, second = (*names, "record", "timestamp")[:2]
        width = len(input_type.get_field_names()) if isinstance(input_type, CompositeTypeInfo) else 1
        self._record = argument(input_type, first)
        self.arguments: list[Term] = [self._record, Column((width,), Types.LONG(), second)]

    @property
    def read_fields(self) -> frozenset[str] | None:
        """The fields that the function looks at: where the job runs, what it captures may be something else."""
        seen_by_others = [*leaves(self.tree), *self.captures.given]
        if not isinstance(self._record, Record) or self.captures.decide or are_made_of(seen_by_others, self._record):
            return None
        names = self._record.type_info.get_field_names()
        return frozenset(names[place] for place in self.operations.places_read(self._record))
