"""Conditions as plain data.

    {field: amount, op: ">", value: 500}                     a field against a value
    {field: amount, op: ">", other_field: limit}             against another field of the event
    {field: amount, op: ">", last: {pattern: p, field: f}}   against the last (`first`) event that the match has for `p`
    {all: [...]}, {any: [...]}, {not: ...}                   combined

Operations are == != < <= > >= in like starts_with ends_with contains is_null is_not_null.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from penstock.cep.refusals import malformed
from penstock.common.row import Row
from penstock.expressions import Expression, col
from penstock.patterns import Both, Condition, ConditionContext, Either, Negation, OfColumns, OfMatch

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WITH_VALUE: dict[str, Callable[[Expression, Any], Expression]] = {
    "in": lambda field, value: field.isin(value),
    "like": lambda field, value: field.like(value),
    "starts_with": lambda field, value: field.startswith(value),
    "ends_with": lambda field, value: field.endswith(value),
    "contains": lambda field, value: field.contains(value),
}
_ALONE: dict[str, Callable[[Expression], Expression]] = {
    "is_null": lambda field: field.is_null(),
    "is_not_null": lambda field: field.is_not_null(),
}
_OPERANDS = ("value", "other_field", "last", "first")


def condition_from_data(data: Any, place: str) -> Condition:
    """The condition that data stands for; `place` says where in the pattern it is."""
    if not isinstance(data, Mapping):
        raise malformed(
            f"{place}: {data!r} is no condition; expected {{field, op, value}}, {{all}}, {{any}} or {{not}}"
        )
    match dict(data):
        case {"all": parts, **others} if not others:
            return _combined(Both, parts, f"{place}.all")
        case {"any": parts, **others} if not others:
            return _combined(Either, parts, f"{place}.any")
        case {"not": part, **others} if not others:
            return Negation(condition_from_data(part, f"{place}.not"))
        case {"field": str() | int() as field, "op": str() as op, **operand}:
            return _comparison(field, op, operand, place)
        case _:
            raise malformed(
                f"{place}: {data!r} is no condition; expected {{field, op, value}}, {{all}}, {{any}}, {{not}}"
            )


def _combined(kind: type[Both] | type[Either], parts: Any, place: str) -> Condition:
    if not isinstance(parts, list) or not parts:
        raise malformed(f"{place}: {parts!r}; expected a list of conditions")
    found, *others = [condition_from_data(part, f"{place}[{number}]") for number, part in enumerate(parts)]
    for other in others:
        found = kind(found, other)
    return found


def _comparison(field: str | int, op: str, operand: dict[str, Any], place: str) -> Condition:
    known = [*_COMPARISONS, *_WITH_VALUE, *_ALONE]
    if op not in known:
        raise malformed(f"{place}: the operation {op!r} is not known; there are {', '.join(known)}")
    if op in _ALONE:
        _expect(operand, (), op, place)
        return OfColumns(_ALONE[op](col(field)))
    if op in _WITH_VALUE:
        _expect(operand, ("value",), op, place)
        return OfColumns(_WITH_VALUE[op](col(field), operand["value"]))
    _expect(operand, _OPERANDS, op, place)
    ((kind, value),) = operand.items()
    if kind == "value":
        return OfColumns(_COMPARISONS[op](col(field), value))
    if kind == "other_field":
        return OfColumns(_COMPARISONS[op](col(field), col(value)))
    match value:
        case {"pattern": str() as pattern, "field": str() | int() as other, **rest} if not rest:
            compare = _WithEarlierEvent(field, op, pattern, other, is_last=kind == "last")
            return OfMatch(compare, compare)
        case _:
            raise malformed(f"{place}: `{kind}` is {value!r}; expected {{pattern, field}}")


def _expect(operand: dict[str, Any], allowed: tuple[str, ...], op: str, place: str) -> None:
    if len(operand) != bool(allowed) or not operand.keys() <= set(allowed):
        expected = f"one of {', '.join(allowed)}" if allowed else "nothing"
        raise malformed(f"{place}: {op!r} comes with {', '.join(map(repr, operand)) or 'nothing'}; expected {expected}")


class _WithEarlierEvent:
    """Compares a field of the event with one of an event that the match has; not met while it has none."""

    def __init__(self, field: str | int, op: str, pattern: str, other: str | int, *, is_last: bool) -> None:
        self._field, self._op, self._pattern, self._other, self._is_last = field, op, pattern, other, is_last
        which = "last" if is_last else "first"
        self.__name__ = f"{field} {op} {other} of the {which} '{pattern}'"

    def __call__(self, event: Any, ctx: ConditionContext) -> bool:
        earlier = list(ctx.get_events_for_pattern(self._pattern))
        if not earlier:
            return False
        value = _field_of(event, self._field)
        other = _field_of(earlier[-1 if self._is_last else 0], self._other)
        return value is not None and other is not None and bool(_COMPARISONS[self._op](value, other))


def _field_of(event: Any, field: str | int) -> Any:
    """A field of a row, a tuple, a dict or an object."""
    if isinstance(field, int) or isinstance(event, Row | Mapping):
        return event[field]
    if isinstance(event, tuple) and field.startswith("f") and field[1:].isdigit():
        return event[int(field[1:])]
    return getattr(event, field)
