"""Copies of values that are kept in state, so that nobody else can change them there."""

from __future__ import annotations

import copyreg
import datetime
import pickle
from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

from penstock.common.by_value import pickled_by_value
from penstock.common.row import Row, restored

ATOMS: frozenset[type[Any]] = frozenset(
    {
        *(type(None), bool, int, float, complex, str, bytes, Decimal, Fraction, UUID),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
    }
)
"""Classes whose values never change."""

_HEAP_TYPE = 1 << 9
_OBJECT_PROTOCOL = ("__reduce_ex__", "__reduce__", "__new__", "__getstate__")


def own_copy(value: Any) -> Any:
    """A value like the given one that changes with nothing else; the same one where it cannot change.

    Flat containers, rows and plain objects are copied as such. All else is pickled and read again, and is what it
    would be after a restart.
    """
    kind = type(value)
    if kind in ATOMS:
        return value
    copier = _copiers.get(kind)
    if copier is None:
        if len(_copiers) > 10_000:
            _copiers.clear()
            _copiers.update(_BUILT_IN)
        copier = _copiers[kind] = _copier_for(kind)
    return copier(value)


def pickled(value: Any) -> bytes:
    """Any Python object as bytes."""
    try:
        return pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        # Classes and functions that cannot be imported by their name go by value.
        return pickled_by_value(value)


def _again(value: Any) -> Any:
    return pickle.loads(pickled(value))


def _is_flat(values: Iterable[Any]) -> bool:
    return ATOMS.issuperset(map(type, values))


def _same(value: Any) -> Any:
    return value


def _same_if_flat(value: Any) -> Any:
    return value if _is_flat(value) else _again(value)


def _shallow_if_flat(value: Any) -> Any:
    return value.copy() if _is_flat(value) else _again(value)


def _dict(value: dict[Any, Any]) -> Any:
    return value.copy() if _is_flat(value.values()) and _is_flat(value) else _again(value)


def _row(value: Row) -> Any:
    values = tuple(value)
    if not _is_flat(values):
        return _again(value)
    return restored(Row.__new__(Row), value._fields, values, value._kind)  # pyright: ignore[reportPrivateUsage]


def _plain_object(value: Any) -> Any:
    if not _is_flat(value.__dict__.values()):
        return _again(value)
    copied = object.__new__(type(value))
    copied.__dict__.update(value.__dict__)
    return copied


def _copier_for(kind: type[Any]) -> Callable[[Any], Any]:
    if issubclass(kind, np.generic | Enum):
        return _same
    if issubclass(kind, Row):
        return _row
    if issubclass(kind, tuple) and kind.__dictoffset__ == 0:
        return _same_if_flat
    return _plain_object if _is_plain(kind) else _again


def _is_plain(kind: type[Any]) -> bool:
    """Whether objects of the class are their `__dict__` and nothing else, and are pickled as that."""
    return (
        all(base is object or base.__flags__ & _HEAP_TYPE for base in kind.__mro__)
        and all(getattr(kind, name) is getattr(object, name) for name in _OBJECT_PROTOCOL if hasattr(object, name))
        and not any(hasattr(kind, name) for name in ("__setstate__", "__getnewargs__", "__getnewargs_ex__"))
        and kind not in copyreg.dispatch_table
        and kind.__dictoffset__ != 0
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
    )


_BUILT_IN: dict[type[Any], Callable[[Any], Any]] = {
    tuple: _same_if_flat,
    frozenset: _same_if_flat,
    list: _shallow_if_flat,
    set: _shallow_if_flat,
    bytearray: bytearray,
    dict: _dict,
}
_copiers: dict[type[Any], Callable[[Any], Any]] = dict(_BUILT_IN)
