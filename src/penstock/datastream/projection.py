"""Some of the fields of tuples and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.row import Row
from penstock.common.typeinfo import CompositeTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.datastream.arguments import describe, refuse


class Projection:
    """Makes a tuple of some fields of a tuple, a row of some fields of a row."""

    def __init__(self, indexes: Sequence[int], names: Sequence[str] | None) -> None:
        self.places_read = tuple(indexes)
        """The places of the fields that it looks at, for the optimizer."""
        self._names = None if names is None else list(names)

    def __call__(self, record: Any) -> Any:
        """The fields in their new order."""
        if self._names is None:
            return tuple([record[index] for index in self.places_read])
        row = Row(*[record[index] for index in self.places_read])
        row.set_field_names(self._names)
        return row


def projection_of(record_type: TypeInformation, fields: Sequence[int | str]) -> tuple[Projection, TypeInformation]:
    """What `project` calls, and the type of its results."""
    if not isinstance(record_type, TupleTypeInfo | RowTypeInfo):
        raise refuse(
            f"project: only tuples and rows of a declared type have fields to choose from, the records are "
            f"{record_type!r}; declare one (`output_type=Types.TUPLE([...])`), or use `map`"
        )
    if not fields:
        raise refuse("project: name at least one field")
    indexes = [_index(record_type, field) for field in fields]
    types = [record_type.get_field_types()[index] for index in indexes]
    if isinstance(record_type, TupleTypeInfo):
        return Projection(indexes, None), TupleTypeInfo(types)
    names = [record_type.get_field_names()[index] for index in indexes]
    return Projection(indexes, names), RowTypeInfo(types, names)


def _index(record_type: CompositeTypeInfo, field: object) -> int:
    names = record_type.get_field_names()
    if isinstance(field, str) and field in names:
        return names.index(field)
    if isinstance(field, int) and not isinstance(field, bool) and 0 <= field < len(names):
        return field
    raise refuse(f"project: there is no field {describe(field)}; the fields are {', '.join(names)}, from 0")
