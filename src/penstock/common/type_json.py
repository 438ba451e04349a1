"""Types as JSON data, to be kept beside what is stored in their form.

A type without parts is its name; a type with parts is an object with one key that says which:

    {"list": t}, {"array": t}, {"objects": t}, {"tuple_of": t}     any number of elements of one type
    {"map": [k, v]}
    {"tuple": [t, ...]}
    {"row": [[name, t], ...]}
    {"class": "module:qualname", "fields": [[name, t], ...]}       a dataclass or a named tuple

Classes are named and never looked up: read again, such a type is one of tuples with named fields.
"""

from __future__ import annotations

from typing import Any

from penstock.common.errors import InvalidTypeError
from penstock.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    DataclassTypeInfo,
    DateTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    NamedTupleTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    VariadicTupleTypeInfo,
)

OBJECT = "OBJECT"
"""Stands for any Python object, where nothing is declared."""
_WITHOUT_PARTS: dict[str, type[TypeInformation]] = {
    "DATE": DateTypeInfo,
    "TIME": TimeTypeInfo,
    "TIMESTAMP": TimestampTypeInfo,
    OBJECT: PickledBytesTypeInfo,
}
_COLLECTIONS: dict[str, type[CollectionTypeInfo]] = {
    "list": ListTypeInfo,
    "array": PrimitiveArrayTypeInfo,
    "basic_array": BasicArrayTypeInfo,
    "objects": ObjectArrayTypeInfo,
    "tuple_of": VariadicTupleTypeInfo,
}
_DEEPEST = 64

TypeJson = Any


def type_to_json(type_info: TypeInformation | None) -> TypeJson:  # noqa: PLR0911 (a table)
    """The JSON form of a type; None is `OBJECT`."""
    match type_info:
        case None:
            return OBJECT
        case BasicTypeInfo():
            return type_info.basic_type.name
        case MapTypeInfo():
            return {"map": [type_to_json(type_info.key_type), type_to_json(type_info.value_type)]}
        case CollectionTypeInfo():
            name = next(name for name, cls in _COLLECTIONS.items() if type(type_info) is cls)
            return {name: type_to_json(type_info.element_type)}
        case DataclassTypeInfo() | NamedTupleTypeInfo():
            return {"class": f"{type_info.cls.__module__}:{type_info.cls.__qualname__}", "fields": _fields(type_info)}
        case RowTypeInfo():
            return {"row": _fields(type_info)}
        case TupleTypeInfo():
            return {"tuple": [type_to_json(each) for each in type_info.get_field_types()]}
        case CompositeTypeInfo():
            return {"class": "", "fields": _fields(type_info)}
        case _:
            for name, cls in _WITHOUT_PARTS.items():
                if type(type_info) is cls:
                    return name
            raise InvalidTypeError(f"{type_info!r} has no written form")


def type_from_json(form: TypeJson, depth: int = 0) -> TypeInformation:
    """The type again; raises `InvalidTypeError` for what is no type."""
    if depth > _DEEPEST:
        raise InvalidTypeError(f"a type with more than {_DEEPEST} levels")
    try:
        found = _from_json(form, depth + 1)
    except (TypeError, ValueError, KeyError) as error:
        raise InvalidTypeError(f"{form!r} is not the form of a type: {error}") from None
    if found is None:
        raise InvalidTypeError(f"{form!r} is not the form of a type")
    return found


def shown_type(form: TypeJson) -> str:
    """A type in words, for messages."""
    return repr(type_from_json(form))


def _from_json(form: TypeJson, depth: int) -> TypeInformation | None:  # noqa: PLR0911 (a table)
    if isinstance(form, str):
        if form in _WITHOUT_PARTS:
            return _WITHOUT_PARTS[form]()
        return BasicTypeInfo(BasicType[form])
    if not isinstance(form, dict):
        return None
    if set(form) == {"class", "fields"}:
        return CompositeTypeInfo(*_named(form["fields"], depth))
    if len(form) != 1:
        return None
    ((kind, parts),) = form.items()
    if kind in _COLLECTIONS:
        return _COLLECTIONS[kind](type_from_json(parts, depth))
    match kind:
        case "map":
            key, value = parts
            return MapTypeInfo(type_from_json(key, depth), type_from_json(value, depth))
        case "tuple":
            return TupleTypeInfo([type_from_json(each, depth) for each in parts])
        case "row":
            names, types = _named(parts, depth)
            return RowTypeInfo(types, names)
        case _:
            return None


def _fields(type_info: CompositeTypeInfo) -> list[list[Any]]:
    pairs = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
    return [[name, type_to_json(each)] for name, each in pairs]


def _named(fields: Any, depth: int) -> tuple[list[str], list[TypeInformation]]:
    names = [name for name, _ in fields]
    if not all(isinstance(name, str) for name in names):
        raise ValueError("a field's name is no text")
    return names, [type_from_json(each, depth) for _, each in fields]
