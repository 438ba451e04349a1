"""What Parquet files tell of their row groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow.parquet

from penstock.connectors.source import FieldCondition

_IS_POSSIBLE: dict[str, Callable[[Any, Any, Any], bool]] = {
    "==": lambda least, greatest, value: least <= value <= greatest,
    "<": lambda least, greatest, value: least < value,
    "<=": lambda least, greatest, value: least <= value,
    ">": lambda least, greatest, value: greatest > value,
    ">=": lambda least, greatest, value: greatest >= value,
}


def may_fulfil(group: pyarrow.parquet.RowGroupMetaData, conditions: Sequence[FieldCondition]) -> bool:
    """Whether a row group may have a record that fulfils all conditions; a record whose field is None does not."""
    if not conditions:
        return True
    places = {group.column(place).path_in_schema: place for place in range(group.num_columns)}
    return all(
        field not in places or _may_fulfil(group.column(places[field]).statistics, symbol, value)
        for field, symbol, value in conditions
    )


def _may_fulfil(statistics: pyarrow.parquet.Statistics | None, symbol: str, value: int | str) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    least, greatest = statistics.min, statistics.max
    # Of another type, such as a decimal number or bytes, the declared field is not what the file compares.
    if type(least) is not type(value) or type(greatest) is not type(value):
        return True
    return _IS_POSSIBLE[symbol](least, greatest, value)
