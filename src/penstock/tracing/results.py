"""Results of a traced function as the columns of a declared type, where they come back from them as they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.common.kernels import pc
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CompositeTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.expressions.bound import Value
from penstock.tracing import kernels
from penstock.tracing.evaluation import Rows
from penstock.tracing.refusal import NotTraceable, Unproven
from penstock.tracing.terms import Column, Composite, Constant, Form, Kind, Record, Term

_KEEPS = {
    Kind.INT: (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT),
    Kind.FLOAT: (BasicType.DOUBLE,),
    Kind.STR: (BasicType.STRING,),
    Kind.BOOL: (BasicType.BOOLEAN,),
    Kind.DECIMAL: (BasicType.BIG_DEC,),
}
"""The types from whose columns a value of a kind comes back exactly."""


class Result:
    """One column of the results."""

    def value(self, rows: Rows) -> Value:
        """The column; raises where a value does not fit."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Untouched(Result):
    """A field of the record as it is."""

    path: tuple[int, ...]

    def value(self, rows: Rows) -> Value:
        return rows.raw(self.path)


@dataclass(frozen=True)
class _Part(Result):
    """A field of a field that has fields and is a record now: it must not be None."""

    path: tuple[int, ...]
    place: int

    def value(self, rows: Rows) -> Value:
        column = rows.raw(self.path)
        if column.null_count:
            raise Unproven
        return column.flatten()[self.place]


@dataclass(frozen=True)
class _Fitted(Result):
    """A computed value in the declared type."""

    term: Term
    arrow_type: pa.DataType

    def value(self, rows: Rows) -> Value:
        value = rows.value(self.term)
        return value if value.type == self.arrow_type else pc.cast(value, self.arrow_type)


@dataclass(frozen=True)
class _Nothing(Result):
    """None."""

    arrow_type: pa.DataType

    def value(self, rows: Rows) -> Value:
        return pa.scalar(None, self.arrow_type)


@dataclass(frozen=True)
class _Struct(Result):
    """A value with fields inside another one."""

    parts: Sequence[Result]
    fields: Sequence[pa.Field]

    def value(self, rows: Rows) -> Value:
        columns = [kernels.expanded(part.value(rows), rows.count) for part in self.parts]
        return pa.StructArray.from_arrays(columns, fields=list(self.fields))


def results_of(term: Term, declared: TypeInformation) -> list[Result]:
    """The columns of a returned value in the declared type; refuses what would come back as something else."""
    if not isinstance(declared, CompositeTypeInfo):
        return [_single(term, declared)]
    if isinstance(term, Record):
        return _of_record(term, declared)
    term = _as_composite(term)
    if not isinstance(term, Composite):
        raise NotTraceable(f"it returns `{term.text}`, and {declared!r} is declared")
    return _of_composite(term, declared)


def _as_composite(term: Term) -> Term:
    if isinstance(term, Constant) and type(term.value) is tuple:
        return Composite(Form.TUPLE, tuple(map(Constant, term.value)), term.text)
    return term


def _of_record(term: Record, declared: CompositeTypeInfo) -> list[Result]:
    if term.type_info.exact_key() != declared.exact_key():
        raise NotTraceable(f"it returns {term.type_info!r}, and {declared!r} is declared")
    places = range(len(declared.get_field_names()))
    return [_Part(term.path, place) if term.path else _Untouched((place,)) for place in places]


def _of_composite(term: Composite, declared: CompositeTypeInfo) -> list[Result]:
    types = declared.get_field_types()
    if not has_form(term, declared) or len(types) != len(term.items):
        raise NotTraceable(f"it returns `{term.text}`, and {declared!r} is declared")
    return [_single(item, field_type) for item, field_type in zip(term.items, types, strict=True)]


def has_form(term: Composite, declared: CompositeTypeInfo) -> bool:
    """Whether the function makes what a value of the type is."""
    if term.form is Form.TUPLE:
        return type(declared) is TupleTypeInfo
    if term.form is Form.ROW:
        return isinstance(declared, RowTypeInfo) and list(term.names or ()) == declared.get_field_names()
    return getattr(declared, "cls", None) is term.cls


def _single(term: Term, declared: TypeInformation) -> Result:
    if isinstance(term, Column | Record) and term.path and term.type_info.exact_key() == declared.exact_key():
        return _Untouched(term.path)
    term = _as_composite(term)
    if isinstance(term, Record) and not term.path and isinstance(declared, CompositeTypeInfo):
        return _Struct(_of_record(term, declared), declared.arrow_fields())
    if isinstance(term, Composite) and isinstance(declared, CompositeTypeInfo):
        return _Struct(_of_composite(term, declared), declared.arrow_fields())
    if isinstance(term, Constant) and term.value is None and not declared.is_pickled:
        return _Nothing(declared.column_type())
    basic = declared.basic_type if isinstance(declared, BasicTypeInfo) else None
    if basic is None or basic not in _KEEPS.get(term.kind, ()):
        raise NotTraceable(f"`{term.text}` is {term.kind.value}, and {declared!r} is declared")
    if isinstance(term, Constant) and term.scalar is None:
        raise NotTraceable(f"{term.text} has no column form")
    return _Fitted(term, declared.column_type())
