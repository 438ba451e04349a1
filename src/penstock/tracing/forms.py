"""The type of what a function returns, where its program declares none: from its columns the very values come back."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.common.typeinfo import (
    CompositeTypeInfo,
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from penstock.tracing.refusal import NotTraceable
from penstock.tracing.terms import Column, Composite, Constant, Form, Kind, Record, Term

_TYPES: dict[Kind, TypeInformation] = {
    Kind.INT: Types.LONG(),
    Kind.FLOAT: Types.DOUBLE(),
    Kind.STR: Types.STRING(),
    Kind.BOOL: Types.BOOLEAN(),
    Kind.DECIMAL: Types.BIG_DEC(),
}


def type_of_results(terms: Iterable[Term]) -> TypeInformation:
    """The type of all values that a function may return; refuses where there is no one type for them."""
    found: TypeInformation | None = None
    for term in terms:
        found = _common(found, _type_of(term))
    if found is None:
        raise NotTraceable("it returns None and nothing else")
    return found


def _type_of(term: Term) -> TypeInformation | None:
    if term.kind in _TYPES:
        return _TYPES[term.kind]
    if isinstance(term, Constant) and term.value is None:
        return None
    if isinstance(term, Column | Record):
        if term.type_info.is_pickled:
            raise NotTraceable(f"`{term.text}` may be any object")
        return term.type_info
    if isinstance(term, Constant) and isinstance(term.value, tuple) and term.value:
        return TupleTypeInfo([_type_of(Constant(value)) or _TYPES[Kind.STR] for value in term.value])
    if isinstance(term, Composite):
        return _type_of_composite(term)
    raise NotTraceable(f"it returns `{term.text}`")


def _type_of_composite(term: Composite) -> CompositeTypeInfo:
    # A field that is always None has a column of any type.
    types = [_type_of(item) or _TYPES[Kind.STR] for item in term.items]
    if term.form is Form.TUPLE and types:
        return TupleTypeInfo(types)
    if term.form is Form.ROW and term.names:
        return Types.ROW_NAMED(term.names, types)
    if term.cls is not None and term.names:
        make = NamedTupleTypeInfo if issubclass(term.cls, tuple) else DataclassTypeInfo
        return make(term.cls, term.names, types)
    raise NotTraceable(f"it returns `{term.text}`")


def _common(first: TypeInformation | None, second: TypeInformation | None) -> TypeInformation | None:
    if first is None or second is None:
        return first or second
    if first.exact_key() != second.exact_key():
        raise NotTraceable(f"it returns {first!r} or {second!r}")
    return first
