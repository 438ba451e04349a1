"""Which stored types can become which declared ones by themselves, and how their plain values do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.common.errors import StateError
from penstock.common.type_json import OBJECT, TypeJson, shown_type, type_to_json
from penstock.common.typeinfo import (
    CollectionTypeInfo,
    CompositeTypeInfo,
    DataclassTypeInfo,
    MapTypeInfo,
    NamedTupleTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.state.plain_values import to_plain

_INTEGERS = ("BYTE", "SHORT", "INT", "LONG", "BIG_INT")
_FLOATS = ("FLOAT", "DOUBLE")
_EXACT_IN_FLOAT = {"FLOAT": ("BYTE", "SHORT"), "DOUBLE": ("BYTE", "SHORT", "INT")}

Conversion = Callable[[Any], Any] | None
"""Of plain values; None where they stay as they are. None as a value is never given."""


class IncompatibleTypeError(StateError):
    """Values of the stored type cannot become values of the declared one by themselves."""


def conversion(stored: TypeJson, declared: TypeInformation | None) -> Conversion:
    """How plain values of a stored type become such of a declared one; raises `IncompatibleTypeError`."""
    wanted = type_to_json(declared)
    if stored == wanted:
        return None
    if isinstance(stored, str) and isinstance(wanted, str):
        return _basic(stored, wanted)
    match declared:
        case TupleTypeInfo():
            return _by_position(stored, declared)
        case CompositeTypeInfo():
            return _by_name(stored, declared)
        case MapTypeInfo() if isinstance(stored, dict) and "map" in stored:
            key, value = stored["map"]
            if conversion(key, declared.key_type) is not None:
                raise _refused(stored, wanted, "the keys of a map cannot change their type")
            convert = conversion(value, declared.value_type)
            return convert and (lambda given: {k: v if v is None else convert(v) for k, v in given.items()})
        case CollectionTypeInfo() if isinstance(stored, dict) and len(stored) == 1 and set(stored) == set(wanted):
            convert = conversion(next(iter(stored.values())), declared.element_type)
            return convert and (lambda given: type(given)(v if v is None else convert(v) for v in given))
        case _:
            raise _refused(stored, wanted)


def _basic(stored: str, wanted: str) -> Conversion:
    if stored in _INTEGERS and wanted in _INTEGERS and _INTEGERS.index(stored) < _INTEGERS.index(wanted):
        return None
    if stored in _INTEGERS and wanted == "BIG_DEC":
        return Decimal
    if (stored, wanted) in (("FLOAT", "DOUBLE"), ("CHAR", "STRING")):
        return None
    if stored in _EXACT_IN_FLOAT.get(wanted, ()):
        return float
    raise _refused(stored, wanted)


def _by_position(stored: TypeJson, declared: TupleTypeInfo) -> Conversion:
    wanted = declared.get_field_types()
    parts = stored.get("tuple") if isinstance(stored, dict) else None
    if parts is None or len(parts) != len(wanted):
        reason = "fields of a tuple have no names: their number cannot change"
        raise _refused(stored, type_to_json(declared), reason if parts is not None else "")
    converts = [conversion(before, now) for before, now in zip(parts, wanted, strict=True)]
    if not any(converts):
        return None
    return lambda given: tuple(
        value if convert is None or value is None else convert(value)
        for convert, value in zip(converts, given, strict=True)
    )


def _by_name(stored: TypeJson, declared: CompositeTypeInfo) -> Conversion:
    fields = (stored.get("row") or stored.get("fields")) if isinstance(stored, dict) else None
    if fields is None:
        raise _refused(stored, type_to_json(declared))
    places = {name: (place, each) for place, (name, each) in enumerate(fields)}
    makers: list[Callable[[Any], Any]] = []
    for name, now in zip(declared.get_field_names(), declared.get_field_types(), strict=True):
        if name in places:
            place, before = places[name]
            try:
                convert = conversion(before, now)
            except IncompatibleTypeError as error:
                raise IncompatibleTypeError(f"field '{name}': {error}") from None
            makers.append(_taken(place, convert))
        else:
            makers.append(_default_of(declared, name, now))
    if [name for name, _ in fields] == declared.get_field_names() and not any(
        getattr(maker, "converts", True) for maker in makers
    ):
        return None
    return lambda given: tuple(make(given) for make in makers)


def _taken(place: int, convert: Conversion) -> Callable[[Any], Any]:
    def take(given: Any) -> Any:
        value = given[place]
        return value if convert is None or value is None else convert(value)

    take.converts = convert is not None  # type: ignore[attr-defined]
    return take


def _default_of(declared: CompositeTypeInfo, name: str, field_type: TypeInformation) -> Callable[[Any], Any]:
    """A new field has its class's default, or None in a row."""
    convert = to_plain(field_type)

    def plain(value: Any) -> Any:
        return value if value is None or convert is None else convert(value)

    if isinstance(declared, DataclassTypeInfo):
        field = next(each for each in dataclasses.fields(declared.cls) if each.name == name)
        if field.default is not dataclasses.MISSING:
            return lambda _: plain(field.default)
        factory = field.default_factory
        if factory is not dataclasses.MISSING:
            return lambda _: plain(factory())
    elif isinstance(declared, NamedTupleTypeInfo):
        defaults = getattr(declared.cls, "_field_defaults", {})
        if name in defaults:
            return lambda _: plain(defaults[name])
    else:
        return lambda _: None
    raise IncompatibleTypeError(
        f"the new field '{name}' of {declared.cls.__qualname__} has no default; give it one, or migrate the state"
    )


def _refused(stored: TypeJson, wanted: TypeJson, reason: str = "") -> IncompatibleTypeError:
    if stored == OBJECT:
        reason = "what was stored are pickled Python objects; write a migration, which reads them"
    text = f"stored as {shown_type(stored)}, declared as {shown_type(wanted)}"
    return IncompatibleTypeError(f"{text}: {reason}" if reason else text)
