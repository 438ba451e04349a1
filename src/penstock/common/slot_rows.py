"""Rows that are made of columns: each field in a slot, made and read in a fraction of a plain row's time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any

from penstock.common.row import FieldNames, Row, field_names, restored


def rows_of_columns(fields: tuple[str, ...], columns: Sequence[Sequence[Any]]) -> list[Row]:
    """Inserted rows with the given field names, one per place in the columns."""
    return _slot_rows(fields).make(columns)


def columns_of_rows(rows: Sequence[Row], fields: tuple[str, ...]) -> list[list[Any]] | None:
    """One list per field; None unless all rows are inserts and have these names, in this order, or none."""
    slot_rows = _slot_rows(fields)
    if set(map(type, rows)) == {slot_rows.row_class}:
        return [list(map(get, rows)) for get in slot_rows.getters]
    if not (set(map(_fields_of, rows)) <= {fields, None} and set(map(_kind_of, rows)) <= {0}):
        return None
    values = list(map(_values_of, rows))
    if set(map(len, values)) - {len(fields)}:
        return None
    return values_by_place(values, len(fields))


def values_by_place(tuples: Sequence[Any], count: int) -> list[list[Any]]:
    """The first values of all tuples, the second ones, and so on."""
    return [list(map(itemgetter(place), tuples)) for place in range(count)]


_fields_of = attrgetter("_fields")
_kind_of = attrgetter("_kind")
_values_of = attrgetter("_values")


def field_access(row_class: type, item: int | str) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]] | None:
    """How to read a field of such rows, and how to copy one with another value in it; None for other classes."""
    slot_rows: SlotRows | None = getattr(row_class, "_slot_rows", None)
    return None if slot_rows is None else slot_rows.access(item)


class SlotRows:
    """The class of rows of some names, and the making of them.

    Names and kind are the class's. A row that is given others becomes one of a subclass, which keeps them as plain
    rows do.
    """

    def __init__(self, names: FieldNames) -> None:
        self._names = names
        prefix = "at"
        while any(name.startswith(prefix) for name in names):
            prefix += "_"
        self._slots = tuple(f"{prefix}{place}" for place in range(len(names)))
        self.getters = tuple(map(attrgetter, self._slots))
        """Read a row's fields."""
        self._place_of: dict[Any, int] = {**names.positions}
        for place in range(len(names)):
            self._place_of[place] = self._place_of[place - len(names)] = place
        self.row_class = self._make_class()
        self.make: Callable[[Sequence[Sequence[Any]]], list[Row]] = self._maker()
        """Rows from one list per field."""

    def _make_class(self) -> type[Row]:
        slots, getters = self._slots, self.getters
        getter_of = {item: getters[place] for item, place in self._place_of.items()}
        slot_of = {item: slots[place] for item, place in self._place_of.items()}
        values_of = _values_getter(slots)

        def get_item(row: Row, item: Any) -> Any:
            try:
                return getter_of[item](row)
            except (KeyError, TypeError):
                pass  # and asked for outside, so that nothing stands before an error in its traceback
            return Row.__getitem__(row, item)

        def set_item(row: Row, item: Any, value: Any) -> None:
            slot = None if isinstance(item, slice) else slot_of.get(item)
            if slot is None:
                row._become_plain()  # pyright: ignore[reportPrivateUsage]
                row[item] = value
            else:
                setattr(row, slot, value)

        def iterate(row: Row) -> Iterator[Any]:
            return iter(values_of(row))

        def become_plain(row: Row) -> None:
            values = list(values_of(row))
            for slot in slots:
                delattr(row, slot)
            row.__class__ = changed_class
            restored(row, self._names, values, 0)

        members: dict[str, Any] = {
            "__doc__": Row.__doc__,
            "__getitem__": get_item,
            "__setitem__": set_item,
            "__iter__": iterate,
            "__len__": lambda row: len(slots),
            "_become_plain": become_plain,
            "_fields": self._names,
            "_kind": 0,
            "_values": property(values_of),
        }
        row_class = type("Row", (Row,), {**members, "__slots__": slots, "_slot_rows": self})
        for name, place in self._names.positions.items():
            if not hasattr(Row, name):
                setattr(row_class, name, row_class.__dict__[slots[place]])
        as_in_plain_rows = {name: Row.__dict__[name] for name in members}
        changed_class = type("Row", (row_class,), {**as_in_plain_rows, "__slots__": (), "_slot_rows": None})
        return row_class

    def access(self, item: int | str) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]:
        """Reads a field of a row; copies a row with another value in that field."""
        changed = self._place_of[item]
        sources = [f"row.{slot}" if place != changed else "value" for place, slot in enumerate(self._slots)]
        lines = [
            "def with_value(row, value):",
            "    copy = new(row_class)",
            *(f"    copy.{slot} = {source}" for slot, source in zip(self._slots, sources, strict=True)),
            "    return copy",
        ]
        return self.getters[changed], self._compiled("with_value", lines)

    def _maker(self) -> Callable[[Sequence[Sequence[Any]]], list[Row]]:
        if not self._slots:
            return lambda columns: []
        # Written out for this number of fields: a loop over the fields of each row would take twice as long.
        values = [f"value{place}" for place in range(len(self._slots))]
        lines = [
            "def make(columns):",
            "    rows = list(map(new, repeat(row_class, len(columns[0]))))",
            f"    for row, {', '.join(values)} in zip(rows, *columns, strict=True):",
            *(f"        row.{slot} = {value}" for slot, value in zip(self._slots, values, strict=True)),
            "    return rows",
        ]
        return self._compiled("make", lines)

    def _compiled(self, name: str, lines: list[str]) -> Callable[..., Any]:
        scope: dict[str, Any] = {"new": Row.__new__, "row_class": self.row_class, "repeat": repeat}
        exec("\n".join(lines), scope)  # noqa: S102 (nothing in it comes from outside: the names are ours)
        return scope[name]


def _values_getter(slots: tuple[str, ...]) -> Callable[[Row], tuple[Any, ...]]:
    if len(slots) > 1:
        return attrgetter(*slots)
    getters = tuple(map(attrgetter, slots))
    return lambda row: tuple([get(row) for get in getters])


@lru_cache(maxsize=1024)
def _slot_rows(fields: tuple[str, ...]) -> SlotRows:
    return SlotRows(field_names(fields))
