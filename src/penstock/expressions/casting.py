"""From one type to another: `cast`, and the fitting of a result to a declared type."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.common.errors import PlanError
from penstock.common.kernels import pc
from penstock.common.typeinfo import (
    BasicTypeInfo,
    CompositeTypeInfo,
    DateTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from penstock.expressions import number_kernels, text_kernels, time_kernels
from penstock.expressions.bound import BoundExpression, BoundKernel, converted
from penstock.expressions.construction import BoundConstruction, member
from penstock.expressions.operation import MethodOperation
from penstock.expressions.type_rules import (
    STRING,
    ExpressionType,
    is_big,
    is_boolean,
    is_float,
    is_integer,
    is_number,
    is_temporal,
    is_text,
    shown,
)

_BIG_DEC = Types.BIG_DEC()
Conversion = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True)
class Cast(MethodOperation):
    """A value as one of another type."""

    target: TypeInformation

    @property
    def method(self) -> str:
        return "cast"

    @property
    def arguments(self) -> Sequence[object]:
        return (self.target,)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        (operand,) = operands
        if operand.type is None or operand.type.exact_key() == self.target.exact_key():
            return converted(operand, self.target)
        conversion = _conversion(operand.type, self.target)
        if conversion is None:
            raise PlanError(f"`{text}`: {operand.type!r} cannot be cast to {self.target!r}")
        return BoundKernel(text, self.target, operands, conversion)


def _conversion(given: TypeInformation, target: TypeInformation) -> Conversion | None:
    for suits, conversions in _CONVERSIONS:
        if suits(target):
            return conversions(given, target)
    return None


def _to_integer(given: TypeInformation, target: TypeInformation) -> Conversion | None:
    narrowed = _narrowed(target)
    if is_integer(given) or is_boolean(given):
        return narrowed
    if is_float(given):
        return lambda value: narrowed(number_kernels.whole(pc.trunc(number_kernels.as_double(value))))
    if is_text(given) or given == Types.BIG_INT():
        return lambda value: narrowed(text_kernels.parsed_integers(value))
    return None


def _narrowed(target: TypeInformation) -> Conversion:
    arrow_type = target.arrow_type()
    return lambda value: pc.cast(value, arrow_type)


def _to_float(given: TypeInformation, target: TypeInformation) -> Conversion | None:
    arrow_type = target.arrow_type()
    if is_number(given):
        return lambda value: pc.cast(value, arrow_type, safe=False)
    if is_boolean(given):
        return lambda value: pc.cast(pc.cast(value, pa.int8()), arrow_type)
    if is_text(given) or is_big(given):
        # As in Python, "1e400" is infinite, and an integer of 400 digits is an error.
        parsed = text_kernels.doubles_of_integers if given == Types.BIG_INT() else text_kernels.parsed_doubles
        return lambda value: pc.cast(parsed(value), arrow_type, safe=False)
    return None


def _to_boolean(given: TypeInformation, target: TypeInformation) -> Conversion | None:
    if is_number(given):
        return lambda value: pc.not_equal(value, 0)
    return text_kernels.parsed_booleans if is_text(given) else None


def _to_string(given: TypeInformation, target: TypeInformation) -> Conversion | None:
    if is_float(given):
        return lambda value: text_kernels.text_of_doubles(number_kernels.as_double(value))
    if is_boolean(given):
        return text_kernels.text_of_booleans
    if is_temporal(given):
        return text_kernels.text_of_times
    if is_integer(given) or is_text(given) or is_big(given):
        return lambda value: pc.cast(value, pa.string())
    return None


def _to_big(given: TypeInformation, target: TypeInformation) -> Conversion | None:
    # Both travel as text.
    if is_integer(given) or (target == _BIG_DEC and is_big(given)):
        return lambda value: pc.cast(value, pa.string())
    return None


def _to_temporal(given: TypeInformation, target: TypeInformation) -> Conversion | None:
    arrow_type = target.arrow_type()
    if is_text(given) and isinstance(target, TimeTypeInfo):
        return text_kernels.parsed_times
    if is_text(given):
        return lambda value: time_kernels.parsed(value, arrow_type)
    to_part = isinstance(given, TimestampTypeInfo) and isinstance(target, DateTypeInfo | TimeTypeInfo)
    if to_part or (isinstance(given, DateTypeInfo) and isinstance(target, TimestampTypeInfo)):
        return lambda value: pc.cast(value, arrow_type)
    return None


_CONVERSIONS: Sequence[
    tuple[Callable[[ExpressionType], bool], Callable[[TypeInformation, TypeInformation], Conversion | None]]
] = (
    (is_integer, _to_integer),
    (is_float, _to_float),
    (is_boolean, _to_boolean),
    (lambda target: target == STRING, _to_string),
    (is_big, _to_big),
    (is_temporal, _to_temporal),
)


def fitted(operand: BoundExpression, target: TypeInformation) -> BoundExpression:
    """A result in the type that the program declares for it: like a function's result, it must fit by itself."""
    if operand.type is None or operand.type.exact_key() == target.exact_key():
        return converted(operand, target)
    if isinstance(operand.type, CompositeTypeInfo) and isinstance(target, CompositeTypeInfo):
        return _fitted_fields(operand, operand.type, target)
    fits = (
        (is_integer(operand.type) and (is_number(target) or is_big(target)))
        or (is_float(operand.type) and is_float(target))
        or (is_text(operand.type) and target == STRING)
    )
    conversion = _conversion(operand.type, target) if fits else None
    if conversion is None:
        raise _does_not_fit(operand, target)
    return BoundKernel(operand.text, target, (operand,), conversion)


def _fitted_fields(operand: BoundExpression, given: CompositeTypeInfo, target: CompositeTypeInfo) -> BoundExpression:
    names, wanted = given.get_field_names(), target.get_field_names()
    by_place = isinstance(given, TupleTypeInfo) or isinstance(target, TupleTypeInfo)
    if len(names) != len(wanted) or not (by_place or set(names) == set(wanted)):
        raise _does_not_fit(operand, target)
    places = range(len(wanted)) if by_place else [names.index(name) for name in wanted]
    parts = [
        fitted(member(operand, place), field_type)
        for place, field_type in zip(places, target.get_field_types(), strict=True)
    ]
    return BoundConstruction(operand.text, target, parts)


def _does_not_fit(operand: BoundExpression, target: TypeInformation) -> PlanError:
    hint = "; `.cast(...)` converts a value" if isinstance(target, BasicTypeInfo) else ""
    return PlanError(f"`{operand.text}` gives {shown(operand.type)}, and the declared type is {target!r}{hint}")
