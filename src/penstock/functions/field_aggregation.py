"""`sum`, `min`, `max`, `min_by` and `max_by` over a field of the records of a key."""

from __future__ import annotations

import copy
import dataclasses
import operator
from collections.abc import Callable
from enum import Enum
from operator import itemgetter
from typing import Any

from penstock.common.row import Row
from penstock.common.slot_rows import field_access
from penstock.common.typeinfo import CompositeTypeInfo
from penstock.functions.aggregation import ReduceFunction

_Access = tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]
"""How to read the field of a record, and how to copy the record with another value in it."""


class FieldAggregation(Enum):
    """What is made of a field."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MIN_BY = "min_by"
    MAX_BY = "max_by"


class FieldReduceFunction(ReduceFunction):
    """Aggregates one field; `field` None aggregates the records themselves."""

    def __init__(self, aggregation: FieldAggregation, field: int | str | None) -> None:
        self.aggregation = aggregation
        self._field = field
        self._is_sum = aggregation is FieldAggregation.SUM
        self._keeps_whole_records = aggregation in (FieldAggregation.MIN_BY, FieldAggregation.MAX_BY)
        self._is_better = operator.lt if aggregation.value.startswith("min") else operator.gt
        self._access: dict[type, _Access] = {}

    def place_in(self, record_type: CompositeTypeInfo) -> int | None:
        """The place of the field among those of records of a type; None where it has none."""
        if isinstance(self._field, str):
            place = record_type.get_field_index(self._field)
            return place if place >= 0 else None
        return self._field

    def reduce(self, value1: Any, value2: Any) -> Any:
        """The aggregate so far."""
        cls = type(value1)
        get, with_value = self._access.get(cls) or self._learn(cls, value1)
        first = get(value1)
        second = get(value2) if type(value2) is cls else get_field(value2, self._field)
        if self._is_sum:
            return with_value(value1, first + second)
        if not self._is_better(second, first):
            return value1
        return value2 if self._keeps_whole_records else with_value(value1, second)

    def _learn(self, cls: type, record: Any) -> _Access:
        """Finds out once per class what `get_field` and `with_field` find out for every record."""
        field: Any = self._field
        access: _Access | None = None
        if not _is_whole(record, field):
            if cls is tuple:
                behind = field + 1 or len(record)
                access = itemgetter(field), lambda values, value: (*values[:field], value, *values[behind:])
            else:
                access = field_access(cls, field)
        self._access[cls] = access = access or (
            lambda record: get_field(record, field),
            lambda record, value: with_field(record, field, value),
        )
        return access

    def __getstate__(self) -> dict[str, Any]:
        # What was learnt of classes is not sent: those of rows are made anew in every process.
        return {**vars(self), "_access": {}}


def get_field(record: Any, field: Any) -> Any:
    """The field of a record of any class that has fields; anything else is its own field 0."""
    if _is_whole(record, field):
        return record
    if isinstance(field, str) and not isinstance(record, Row | dict):
        return getattr(record, field)
    return record[field]


def with_field(record: Any, field: Any, value: Any) -> Any:
    """A copy of the record with another value in one field."""
    if _is_whole(record, field):
        return value
    changed: Any = copy.copy(record)
    if isinstance(field, str) and not isinstance(record, Row | dict):
        if dataclasses.is_dataclass(record):
            return dataclasses.replace(changed, **{field: value})
        return changed._replace(**{field: value})
    if not isinstance(record, tuple):
        changed[field] = value
        return changed
    fields: Any = list(changed)
    fields[field] = value
    return getattr(type(changed), "_make", tuple)(fields)


def _is_whole(record: Any, field: int | str | None) -> bool:
    return field is None or (field == 0 and not isinstance(record, tuple | list | Row))
