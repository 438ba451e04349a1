"""Values of declared types as *plain* values, and the bytes of those.

A plain value is made of None, bool, int, float, str, bytes, date, time, datetime, Decimal, tuples, lists and dicts of
such. Its bytes are a pickle that names nothing but the few classes above: reading it can run no code, whatever the
bytes are.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from io import BytesIO
from operator import attrgetter
from typing import Any

import numpy as np

from penstock.common.columns import mismatch
from penstock.common.composite_columns import shape_of
from penstock.common.errors import StateCorruptionError, TypeMismatchError
from penstock.common.row import Row
from penstock.common.time import Instant
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    DataclassTypeInfo,
    MapTypeInfo,
    NamedTupleTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TypeInformation,
    VariadicTupleTypeInfo,
)
from penstock.state.own_copy import pickled

_CLASSES = {f"{cls.__module__}.{cls.__name__}": cls for cls in (date, datetime, time, timedelta, timezone, Decimal)}
_PLAIN_CLASSES = frozenset({*_CLASSES.values(), type(UTC)})

_BASES: tuple[type[Any], ...] = (bool, int, float, str, bytes)
_ATOMS = frozenset({*_BASES, type(None)})

Converter = Callable[[Any], Any] | None
"""From one form of a value to another; None where both are the same. None as a value is never given."""


class _NotPlainError(Exception):
    pass


class _PlainPickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in _PLAIN_CLASSES or (isinstance(obj, type) and obj in _PLAIN_CLASSES):
            return NotImplemented
        raise _NotPlainError(obj)


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        cls = _CLASSES.get(f"{module_name}.{global_name}")
        if cls is None:
            raise StateCorruptionError(f"a stored value names {module_name}.{global_name}: it is no plain value")
        return cls


def plain_to_bytes(plain: Any) -> bytes:
    """The bytes of a plain value; what only looks like one (numbers of numpy, subclasses) becomes one."""
    if type(plain) is tuple and _ATOMS.issuperset(map(type, plain)):
        # The same bytes, in a third of the time: most values are a few numbers and texts.
        return pickle.dumps(plain, 5)
    buffer = BytesIO()
    try:
        _PlainPickler(buffer, 5).dump(plain)
    except (_NotPlainError, TypeError):
        buffer = BytesIO()
        _PlainPickler(buffer, 5).dump(_made_plain(plain))
    return buffer.getvalue()


def plain_from_bytes(data: bytes | memoryview) -> Any:
    """The plain value again. Nothing is executed; what is no plain value is a `StateCorruptionError`."""
    try:
        return _PlainUnpickler(BytesIO(data)).load()
    except StateCorruptionError:
        raise
    except Exception as error:
        raise StateCorruptionError(f"a stored value cannot be read: {type(error).__name__}: {error}") from error


def _made_plain(value: Any) -> Any:  # noqa: PLR0911 (a table)
    if isinstance(value, np.generic):
        return _made_plain(value.item())
    base: Callable[[Any], Any] | None = next((each for each in _BASES if isinstance(value, each)), None)
    if base is not None:
        return base(value)
    match value:
        case None | date() | time() | Decimal():
            return value
        case bytearray() | memoryview():
            return bytes(value)
        case tuple():
            return tuple(map(_made_plain, value))
        case list():
            return list(map(_made_plain, value))
        case dict():
            return {_made_plain(key): _made_plain(each) for key, each in value.items()}
        case _:
            raise TypeMismatchError(
                f"{value!r} of class {type(value).__qualname__} does not fit the declared type of the state"
            )


def to_plain(type_info: TypeInformation) -> Converter:  # noqa: PLR0911 (a table)
    """What makes values of a type plain."""
    match type_info:
        case BasicTypeInfo(basic_type=BasicType.INSTANT):
            return lambda value: (value.seconds, value.nanos)
        case PrimitiveArrayTypeInfo(is_bytes=True):
            return bytes
        case RowTypeInfo():
            return _row_to_plain(type_info, _field_converters(type_info, to_plain))
        case CompositeTypeInfo():
            return _fields_to_plain(type_info, _field_converters(type_info, to_plain))
        case MapTypeInfo():
            return _of_map(type_info, to_plain)
        case CollectionTypeInfo():
            return _of_collection(type_info, to_plain)
        case _:
            return pickled if type_info.is_pickled else None


def from_plain(type_info: TypeInformation) -> Converter:
    """What makes values of a type of plain ones."""
    match type_info:
        case BasicTypeInfo(basic_type=BasicType.INSTANT):
            return lambda plain: Instant(*plain)
        case PrimitiveArrayTypeInfo(is_bytes=True):
            return None
        case CompositeTypeInfo():
            return _fields_from_plain(type_info, _field_converters(type_info, from_plain))
        case MapTypeInfo():
            return _of_map(type_info, from_plain)
        case CollectionTypeInfo():
            return _of_collection(type_info, from_plain)
        case _:
            # The program declares that these are any Python objects: see docs/concepts/savepoints.md.
            return pickle.loads if type_info.is_pickled else None


def _field_converters(
    type_info: CompositeTypeInfo, of: Callable[[TypeInformation], Converter]
) -> list[tuple[int, Callable[[Any], Any]]]:
    converters = ((place, of(each)) for place, each in enumerate(type_info.get_field_types()))
    return [(place, converter) for place, converter in converters if converter is not None]


def _converted(fields: Sequence[Any], converters: Sequence[tuple[int, Callable[[Any], Any]]]) -> tuple[Any, ...]:
    changed = list(fields)
    for place, convert in converters:
        if changed[place] is not None:
            changed[place] = convert(changed[place])
    return tuple(changed)


def _row_to_plain(type_info: RowTypeInfo, converters: list[tuple[int, Callable[[Any], Any]]]) -> Converter:
    names, shape = tuple(type_info.get_field_names()), shape_of(type_info)

    def convert(value: Any) -> Any:
        if type(value) is Row and value.get_row_kind().value == 0:
            own_names = value.get_field_names()
            if len(value) == len(names) and (own_names is None or tuple(own_names) == names):
                return _converted(tuple(value), converters)
        return _converted([column[0] for column in shape.split([value])], converters)

    return convert


def _fields_to_plain(type_info: CompositeTypeInfo, converters: list[tuple[int, Callable[[Any], Any]]]) -> Converter:
    names = type_info.get_field_names()
    if isinstance(type_info, DataclassTypeInfo):
        cls = type_info.cls
        get: Callable[[Any], Any] = attrgetter(*names)
        fields_of = get if len(names) > 1 else lambda value: (get(value),)
    elif isinstance(type_info, NamedTupleTypeInfo):
        cls, fields_of = type_info.cls, tuple
    else:
        cls, fields_of = tuple, tuple

    def convert(value: Any) -> Any:
        if type(value) is not cls:
            if cls is not tuple or not isinstance(value, tuple | list | Row):
                raise mismatch(type_info, value, 0)
            value = tuple(value)
        if cls is tuple and len(value) != len(names):
            raise mismatch(type_info, value, 0, f"it has {len(value)} fields, expected {len(names)}: {names}")
        return _converted(fields_of(value), converters) if converters else fields_of(value)

    return convert


def _fields_from_plain(type_info: CompositeTypeInfo, converters: list[tuple[int, Callable[[Any], Any]]]) -> Converter:
    shape = shape_of(type_info)
    count = len(type_info.get_field_names())
    is_tuple = not isinstance(type_info, RowTypeInfo | DataclassTypeInfo | NamedTupleTypeInfo)

    def convert(plain: Any) -> Any:
        if type(plain) is not tuple or len(plain) != count:
            raise StateCorruptionError(f"a stored value of type {type_info!r} is {plain!r}")
        fields = _converted(plain, converters) if converters else plain
        return fields if is_tuple else shape.join([[each] for each in fields])[0]

    return convert


def _of_map(type_info: MapTypeInfo, of: Callable[[TypeInformation], Converter]) -> Converter:
    key, value = of(type_info.key_type), of(type_info.value_type)

    def convert(given: Any) -> Any:
        if not isinstance(given, Mapping):
            raise mismatch(type_info, given, 0, "a dict is expected")
        if key is None and value is None:
            return dict(given)
        return {
            each if key is None or each is None else key(each): item if value is None or item is None else value(item)
            for each, item in given.items()
        }

    return convert


def _of_collection(type_info: CollectionTypeInfo, of: Callable[[TypeInformation], Converter]) -> Converter:
    element = of(type_info.element_type)
    cls = tuple if isinstance(type_info, VariadicTupleTypeInfo) else list

    def convert(given: Any) -> Any:
        if not isinstance(given, cls):
            raise mismatch(type_info, given, 0, f"a {cls.__name__} is expected")
        if element is None:
            return cls(given)
        return cls(each if each is None else element(each) for each in given)

    return convert
