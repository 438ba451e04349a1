"""`sum`, `min`, `max`, `min_by` and `max_by` over a field of the records of a key."""

from __future__ import annotations

import copy
import dataclasses
from enum import Enum
from typing import Any

from penstock.common.row import Row
from penstock.functions import ReduceFunction


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
        self._aggregation = aggregation
        self._field = field

    def reduce(self, value1: Any, value2: Any) -> Any:
        """The aggregate so far."""
        first, second = get_field(value1, self._field), get_field(value2, self._field)
        match self._aggregation:
            case FieldAggregation.SUM:
                return with_field(value1, self._field, first + second)
            case FieldAggregation.MIN:
                return with_field(value1, self._field, second) if second < first else value1
            case FieldAggregation.MAX:
                return with_field(value1, self._field, second) if second > first else value1
            case FieldAggregation.MIN_BY:
                return value2 if second < first else value1
            case FieldAggregation.MAX_BY:
                return value2 if second > first else value1


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
