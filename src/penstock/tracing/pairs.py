"""Functions of two records as programs over the columns of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.tracing.execution import Captures, Execution
from penstock.tracing.functions import place_of, plain_function
from penstock.tracing.operations import Operations
from penstock.tracing.programs import MapProgram
from penstock.tracing.refusal import NotTraceable, refusing
from penstock.tracing.terms import Record, Term, are_made_of, argument
from penstock.tracing.trees import Tree, leaves


class PairProgram(MapProgram):
    """One result per pair of records, in columns of a type."""

    def __init__(self, trace: _PairTrace, output_type: TypeInformation) -> None:
        super().__init__(trace, output_type)
        self._types = trace.types
        self.places = trace.places
        """Of each of the two records, the places of the fields that are looked at; None where it may be any."""

    def columns_of_pairs(self, first: Sequence[pa.Array], second: Sequence[pa.Array], count: int) -> list[pa.Array]:
        """The columns of the results. Whatever is raised says that the function itself has to be asked."""
        pairs = zip(self._types, (first, second), strict=True)
        return self.columns([_whole(type_info, columns) for type_info, columns in pairs], count)


def _whole(type_info: TypeInformation, columns: Sequence[pa.Array]) -> pa.Array:
    if not isinstance(type_info, CompositeTypeInfo):
        return columns[0]
    return pa.StructArray.from_arrays(list(columns), fields=type_info.arrow_fields())


def trace_pairs(
    function: Any,
    method: str,
    first_type: TypeInformation,
    second_type: TypeInformation,
    output_type: TypeInformation,
) -> PairProgram:
    """The program of a function of two records; raises `NotTraceable` where there is none.

    >>> from penstock.common import Types
    >>> bid = Types.TUPLE([Types.STRING(), Types.LONG()])
    >>> program = trace_pairs(lambda a, b: a[1] * b, "join", bid, Types.LONG(), Types.LONG())
    >>> program.columns_of_pairs([pa.array(["x", "y"]), pa.array([2, 3])], [pa.array([10, 20])], 2)[0].to_pylist()
    [20, 60]
    """
    with refusing() as located:
        if first_type.is_pickled or second_type.is_pickled or output_type.is_pickled:
            raise NotTraceable("the records or the results have no declared type")
        plain, owner = plain_function(function, method)
        located.place = place_of(plain)
        names = (*plain.__code__.co_varnames[len(owner) :], "first", "second")
        trace = _PairTrace((first_type, second_type), names)
        trace.tree = Execution(trace.operations, trace.captures).run(plain, [*owner, *trace.arguments])
        return PairProgram(trace, output_type)


class _PairTrace:
    """The run of a function on two records: their fields lie in two columns."""

    tree: Tree
    read_fields: frozenset[str] | None = None

    def __init__(self, types: tuple[TypeInformation, TypeInformation], names: Sequence[str]) -> None:
        self.operations = Operations()
        self.captures = Captures()
        self.types = types
        self.arguments: list[Term] = [argument(each, names[number], number) for number, each in enumerate(types)]

    @property
    def places(self) -> tuple[set[int] | None, set[int] | None]:
        first, second = (self._places_in(argument) for argument in self.arguments)
        return first, second

    def _places_in(self, record: Term) -> set[int] | None:
        if not isinstance(record, Record) or are_made_of(leaves(self.tree), record):
            return None
        return self.operations.places_read(record)
