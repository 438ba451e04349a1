"""Conditions made ready for use: as bits that are computed for many events at once, or as calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import RecordCodec
from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation
from penstock.expressions.evaluator import Evaluator, condition
from penstock.patterns import (
    Always,
    Both,
    Condition,
    ConditionContext,
    Either,
    Negation,
    OfColumns,
    OfEvent,
    OfMatch,
    OfType,
)
from penstock.runtime.cep.matches import Event

Test = Callable[[Event, ConditionContext], Any]
Answers = np.ndarray[Any, np.dtype[np.bool_]]
Masks = np.ndarray[Any, Any]
_MOST_BITS_OF_NUMPY = 62


class ConditionTests:
    """The conditions of one pattern. Those made of expressions alone have a bit in the mask of an event."""

    def __init__(self, record_type: TypeInformation | None) -> None:
        self._record_type = record_type
        self._evaluators: dict[int, Evaluator] = {}
        """By the identity of the condition, which `_kept` keeps alive."""
        self._bits: dict[Any, int] = {}
        self._by_bit: list[Condition] = []
        self._kept: list[Condition] = []

    @property
    def has_bits(self) -> bool:
        """Whether events need a mask."""
        return bool(self._by_bit)

    @property
    def bits(self) -> int:
        """How many bits masks have."""
        return len(self._by_bit)

    def prepared(self, condition: Condition) -> tuple[int, Test | None]:
        """The bit of a condition, or the call that tests it; neither for one that is always true."""
        condition = _simplified(condition)
        if isinstance(condition, Always):
            return 0, None
        if _is_of_columns(condition):
            return self._bit(condition), None
        return 0, self._call(condition)

    def masks(self, columns: Sequence[pa.Array], count: int) -> Masks:
        """A mask for each of some events."""
        known: dict[int, Answers] = {}
        answers = [self._answers(each, columns, count, known) for each in self._by_bit]
        dtype = np.int64 if len(answers) <= _MOST_BITS_OF_NUMPY else object
        mask: Any = np.zeros(count, dtype)
        for place, column in enumerate(answers):
            mask |= column.astype(dtype) << place
        return mask

    def masks_of_values(self, values: list[Any], codec: RecordCodec) -> list[int]:
        """The same, for events that are no columns."""
        return self.masks(codec.to_columns(values), len(values)).tolist() if self._by_bit else [0] * len(values)

    def mask_of_nothing(self) -> int:
        """The mask of an event that meets none of the expressions."""
        return sum(1 << place for place, given in enumerate(self._by_bit) if _holds_of_nothing(given))

    def _bit(self, condition: Condition) -> int:
        key = _structure(condition)
        if key not in self._bits:
            self._bits[key] = 1 << len(self._by_bit)
            self._by_bit.append(condition)
            for leaf in condition.leaves():
                self._kept.append(leaf)
                if isinstance(leaf, OfColumns) and id(leaf) not in self._evaluators:
                    assert self._record_type is not None
                    self._evaluators[id(leaf)] = _evaluator(leaf, self._record_type)
        return self._bits[key]

    def _answers(self, given: Condition, columns: Sequence[pa.Array], count: int, known: dict[int, Answers]) -> Answers:
        match given:
            case Both(parts=(left, right)):
                return self._answers(left, columns, count, known) & self._answers(right, columns, count, known)
            case Either(parts=(left, right)):
                return self._answers(left, columns, count, known) | self._answers(right, columns, count, known)
            case Negation(parts=(part,)):
                return ~self._answers(part, columns, count, known)
            case Always():
                return np.ones(count, np.bool_)
            case _:
                if id(given) not in known:
                    (column,) = self._evaluators[id(given)].columns(columns, count)
                    # A condition that is None is not met, as in a filter.
                    known[id(given)] = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
                return known[id(given)]

    def _call(self, given: Condition) -> Test:  # noqa: PLR0911 (one for each kind)
        if _is_of_columns(given):
            bit = self._bit(given)
            return lambda event, _: event.mask & bit
        match given:
            case OfEvent():
                of_event = given.call
                return lambda event, _: of_event(event.value)
            case OfMatch():
                of_match = given.call
                return lambda event, context: of_match(event.value, context)
            case OfType():
                subtype = given.subtype
                return lambda event, _: isinstance(event.value, subtype)
            case Negation(parts=(part,)):
                inner = self._call(part)
                return lambda event, context: not inner(event, context)
            case Both(parts=(first, second)):
                one, two = self._call(first), self._call(second)
                return lambda event, context: one(event, context) and two(event, context)
            case Either(parts=(first, second)):
                one, two = self._call(first), self._call(second)
                return lambda event, context: one(event, context) or two(event, context)
            case _:
                return lambda *_: True


def check_conditions(conditions: Iterator[Condition], record_type: TypeInformation) -> None:
    """Raises `PlanError` for an expression that does not fit the records, or is no condition."""
    for each in conditions:
        for leaf in each.leaves():
            if isinstance(leaf, OfColumns):
                _evaluator(leaf, record_type)


def _evaluator(leaf: OfColumns, record_type: TypeInformation) -> Evaluator:
    return condition(leaf.expression, record_type)


def _is_of_columns(given: Condition) -> bool:
    leaves = list(given.leaves())
    return all(isinstance(leaf, OfColumns | Always) for leaf in leaves) and any(
        isinstance(leaf, OfColumns) for leaf in leaves
    )


def _holds_of_nothing(given: Condition) -> bool:
    match given:
        case Both(parts=parts):
            return all(map(_holds_of_nothing, parts))
        case Either(parts=parts):
            return any(map(_holds_of_nothing, parts))
        case Negation(parts=(part,)):
            return not _holds_of_nothing(part)
        case _:
            return isinstance(given, Always)


def _structure(given: Condition) -> Any:
    if not given.parts:
        return id(given)
    return type(given).__name__, *map(_structure, given.parts)


def _simplified(given: Condition) -> Condition:
    """The same condition without parts that are always true, and without double negations."""
    match given:
        case Both(parts=(left, right)):
            left, right = _simplified(left), _simplified(right)
            if isinstance(left, Always):
                return right
            return left if isinstance(right, Always) else Both(left, right)
        case Negation(parts=(part,)):
            part = _simplified(part)
            return part.parts[0] if isinstance(part, Negation) else Negation(part)
        case _:
            return given
