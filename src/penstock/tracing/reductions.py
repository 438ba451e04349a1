"""Functions of two records that combine each field by itself."""

from __future__ import annotations

import builtins
from typing import Any

from penstock.common.typeinfo import BasicType, BasicTypeInfo, TypeInformation
from penstock.expressions.type_rules import is_integer, is_text
from penstock.tracing import calls
from penstock.tracing.execution import Captures, Execution
from penstock.tracing.functions import place_of, plain_function
from penstock.tracing.operations import Operations
from penstock.tracing.refusal import NotTraceable, refusing
from penstock.tracing.results import has_form
from penstock.tracing.terms import Column, Composite, Record, Term, argument
from penstock.tracing.trees import Leaf
from penstock.windows.field_reduction import FieldCombination, FieldReduction


def trace_reduction(function: Any, record_type: TypeInformation) -> FieldReduction:
    """What a function of two records makes of each field; raises `NotTraceable` where that is not known.

    >>> from penstock.common import Types
    >>> str(trace_reduction(lambda a, b: (a[0], a[1] + b[1]), Types.TUPLE([Types.STRING(), Types.LONG()])))
    'f0=first, f1=sum'
    """
    with refusing() as located:
        if record_type.is_pickled:
            raise NotTraceable("the records have no declared type")
        plain, owner = plain_function(function, "reduce")
        located.place = place_of(plain)
        operations = Operations()
        names = (*plain.__code__.co_varnames[len(owner) :], "a", "b")
        first, second = (argument(record_type, names[number], number) for number in range(2))
        captures = Captures()
        tree = Execution(operations, captures).run(plain, [*owner, first, second])
        if captures.decide or captures.have_functions:
            # Nobody asks the function again, so that it must stay what it is.
            raise NotTraceable("what it captures decides how records are combined, and may be changed")
        if not isinstance(tree, Leaf):
            raise NotTraceable(f"`{tree.text}` is not made field by field")
        return FieldReduction(record_type, _combinations(operations, tree.term, first, second))


def _combinations(
    operations: Operations, term: Term, first: Record | Column, second: Record | Column
) -> tuple[FieldCombination, ...]:
    if not isinstance(first, Record) or not isinstance(second, Record):
        return (_combination(operations, term, first, second),)
    record_type = first.type_info
    count = len(record_type.get_field_types())
    if term is first or term is second:
        return (FieldCombination.FIRST if term is first else FieldCombination.LAST,) * count
    if not isinstance(term, Composite) or not has_form(term, record_type) or len(term.items) != count:
        raise NotTraceable(f"it returns `{term.text}`, which is no record of the type {record_type!r}")
    pairs = zip(operations.fields(first), operations.fields(second), strict=True)
    return tuple(_combination(operations, item, *pair) for item, pair in zip(term.items, pairs, strict=True))


def _combination(operations: Operations, term: Term, first: Term, second: Term) -> FieldCombination:
    """What a field is made of; equal terms are one object."""
    if term is first or term is second:
        return FieldCombination.FIRST if term is first else FieldCombination.LAST
    values = first.type_info if isinstance(first, Column) else None
    if values is not None:
        for made, combination in (
            (_sums, FieldCombination.SUM),
            (_least, FieldCombination.MIN),
            (_greatest, FieldCombination.MAX),
        ):
            if any(each is term for each in made(operations, values, first, second)):
                return combination
    raise NotTraceable(f"`{term.text}` is no sum, least or greatest of this field alone")


def _sums(operations: Operations, values: TypeInformation, first: Term, second: Term) -> list[Term]:
    if not is_integer(values) and not _is_double(values):
        return []
    return [operations.binary("+", first, second), operations.binary("+", second, first)]


def _least(operations: Operations, values: TypeInformation, first: Term, second: Term) -> list[Term]:
    return _extremes(operations, builtins.min, values, first, second)


def _greatest(operations: Operations, values: TypeInformation, first: Term, second: Term) -> list[Term]:
    return _extremes(operations, builtins.max, values, first, second)


def _extremes(operations: Operations, function: Any, values: TypeInformation, first: Term, second: Term) -> list[Term]:
    # `min(a, b)` is `a` unless `b` is less: it matters which of them comes first where one is NaN.
    one_way = is_integer(values) or is_text(values)
    pairs = [(first, second), (second, first)] if one_way else [(first, second)] if _is_double(values) else []
    return [calls.call(operations, function, pair, {}) for pair in pairs]


def _is_double(values: TypeInformation) -> bool:
    """A FLOAT is computed with more digits than its column has."""
    return isinstance(values, BasicTypeInfo) and values.basic_type is BasicType.DOUBLE
