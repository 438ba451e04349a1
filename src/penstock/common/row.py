"""`Row`: a record of named or numbered fields, with the kind of change that it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any


class RowKind(Enum):
    """What a row does to a changing table."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _KIND_SIGNS[self.value]


_KIND_SIGNS = ("+I", "-U", "+U", "-D")
_KINDS = tuple(RowKind)


class FieldNames(tuple[str, ...]):
    """The names of a row's fields, with their places. Rows of the same names share one object."""

    positions: dict[str, int]


_known_names: dict[tuple[str, ...], FieldNames] = {}
_MAX_KNOWN_NAMES = 10_000


def field_names(names: Sequence[str]) -> FieldNames:
    """The one object for these names."""
    key = tuple(names)
    known = _known_names.get(key)
    if known is None:
        known = FieldNames(key)
        known.positions = {name: place for place, name in reversed(list(enumerate(key)))}
        if len(_known_names) >= _MAX_KNOWN_NAMES:
            _known_names.clear()
        _known_names[key] = known
    return known


class Row:
    """A record of several fields.

    >>> row = Row(name="Ada", age=36)
    >>> row.name, row["age"], row[1]
    ('Ada', 36, 36)
    >>> row
    Row(name='Ada', age=36)

    A row made by position has no names; called with values, it makes rows with its values as names:

    >>> Person = Row("name", "age")
    >>> Person("Ada", 36)
    Row(name='Ada', age=36)
    """

    # The kind is kept as a number: comparing and hashing enum members is slow.
    __slots__ = ("_fields", "_kind", "_values")

    _fields: FieldNames | None
    _values: Sequence[Any]
    _kind: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("a Row takes values by position or by name, not both")
        if kwargs:
            self._fields = field_names(tuple(kwargs))
            self._values = list(kwargs.values())
        else:
            self._fields = None
            self._values = list(args)
        self._kind = 0

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row of a given kind."""
        row = Row(*args, **kwargs)
        row.set_row_kind(row_kind)
        return row

    def get_row_kind(self) -> RowKind:
        """What the row does to a changing table; INSERT unless set."""
        return _KINDS[self._kind]

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Sets what the row does to a changing table."""
        self._become_plain()
        self._kind = row_kind.value

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Names the fields, in their order."""
        self._become_plain()
        self._fields = _names(field_names)

    def _become_plain(self) -> None:
        """Names, kind and values become the row's own, to be changed. They are, unless a class says otherwise."""

    def get_field_names(self) -> list[str] | None:
        """The names of the fields; None for a row made by position."""
        return None if self._fields is None else list(self._fields)

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """The values of the named fields; all values where the row has no names."""
        if self._fields is None:
            return list(self._values)
        missing = [name for name in names if name not in self._fields]
        if missing:
            raise ValueError(f"the row has no fields {missing}; it has {list(self._fields)}")
        return [self._values[self._fields.index(name)] for name in names]

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """The fields as a dict; with `recursive`, rows inside it (in lists and dicts too) become dicts."""
        if self._fields is None:
            raise TypeError(f"a row without field names has no dict: {self!r}")
        values = map(_without_rows, self._values) if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __call__(self, *args: Any) -> Row:
        """A row with this row's values as its field names."""
        if len(args) > len(self._values):
            raise ValueError(f"{self!r} names {len(self._values)} fields, got {len(args)} values: {args}")
        return restore_row(tuple(self._values), args, self._kind)

    def __getitem__(self, item: int | slice | str) -> Any:
        # Called for every field of every record: the common cases first, and nothing looked up twice.
        if type(item) is str:
            try:
                return self._values[self._fields.positions[item]]  # pyright: ignore[reportOptionalMemberAccess]
            except (KeyError, AttributeError):
                pass  # and told outside, so that nothing stands before the error in its traceback
        if isinstance(item, int):
            return self._values[item]
        if isinstance(item, slice):
            return list(self._values[item])
        return self._values[self._index(item)]

    def __setitem__(self, key: int | slice | str, value: Any) -> None:
        if not isinstance(self._values, list):
            self._values = list(self._values)
        self._values[self._index(key) if isinstance(key, str) else key] = value

    def __getattr__(self, item: str) -> Any:
        # Names with an underscore are asked for by copy and pickle before the slots are filled.
        if item[0] == "_":
            raise AttributeError(item)
        if self._fields is None:
            raise AttributeError(f"the row has no field names, so none is called {item!r}", name=item)
        place = self._fields.positions.get(item)
        if place is None:
            raise AttributeError(f"the row has no field {item!r}; it has {list(self._fields)}", name=item)
        return self._values[place]

    def _index(self, name: str) -> int:
        if self._fields is None:
            raise KeyError(f"the row has no field names, so none is called {name!r}")
        if name not in self._fields:
            raise ValueError(f"the row has no field {name!r}; it has {list(self._fields)}")
        return self._fields.index(name)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = None if self._fields is None else tuple(self._fields)
        return restore_row, (fields, tuple(self._values), self._kind)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._fields, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or self._kind != other._kind:
            return False
        if self._fields is None or other._fields is None:
            return self._fields is other._fields and list(self._values) == list(other._values)
        if self._fields == other._fields:
            return list(self._values) == list(other._values)
        return sorted(self._fields) == sorted(other._fields) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(tuple(self._values))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _without_rows(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_without_rows(element) for element in value]
    if isinstance(value, dict):
        return {key: _without_rows(element) for key, element in value.items()}
    return value


def restored(row: Row, fields: FieldNames | None, values: Sequence[Any], kind: int) -> Row:
    """Gives a plain row its parts, which it keeps without copying."""
    row._fields = fields  # pyright: ignore[reportPrivateUsage]
    row._values = values  # pyright: ignore[reportPrivateUsage]
    row._kind = kind  # pyright: ignore[reportPrivateUsage]
    return row


def restore_row(fields: tuple[str, ...] | None, values: Sequence[Any], kind: int) -> Row:
    """A row from its parts."""
    return restored(Row.__new__(Row), None if fields is None else field_names(fields), values, kind)


_names = field_names
