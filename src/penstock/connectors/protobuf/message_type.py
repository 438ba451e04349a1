"""The type of rows that a Protobuf message class describes, and values of one as values of the other."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Callable
from typing import Any

from penstock.common.errors import ConfigurationError, EnvironmentNotReadyError, UnsupportedError
from penstock.common.row import Row
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation, Types

_TIMESTAMP = "google.protobuf.Timestamp"
_EPOCH = datetime.datetime(1970, 1, 1)


def protobuf() -> Any:
    """The package google.protobuf; raises an error that says how to get it."""
    try:
        for name in ("descriptor", "descriptor_pool", "message", "message_factory"):
            importlib.import_module(f"google.protobuf.{name}")
        return importlib.import_module("google.protobuf")
    except ImportError as problem:
        raise EnvironmentNotReadyError(
            "Protobuf needs the package protobuf, which is not installed here: pip install 'penstock[protobuf]'"
        ) from problem


def row_type_of_message(descriptor: Any) -> CompositeTypeInfo:
    """A row with the fields of a message; enums are their names, well-known timestamps datetimes in UTC."""
    return _row_type(descriptor, ())


def _row_type(descriptor: Any, enclosing: tuple[str, ...]) -> CompositeTypeInfo:
    if descriptor.full_name in enclosing:
        raise UnsupportedError(f"the Protobuf message {descriptor.full_name} contains itself: it has no row type")
    if not descriptor.fields:
        raise ConfigurationError(f"the Protobuf message {descriptor.full_name} has no fields")
    names = [field.name for field in descriptor.fields]
    inside = (*enclosing, descriptor.full_name)
    return Types.ROW_NAMED(names, [_field_type(field, inside) for field in descriptor.fields])


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _field_type(field: Any, enclosing: tuple[str, ...]) -> TypeInformation:
    if _is_map(field):
        entry = field.message_type.fields_by_name
        return Types.MAP(_single_type(entry["key"], enclosing), _single_type(entry["value"], enclosing))
    single = _single_type(field, enclosing)
    return Types.LIST(single) if field.is_repeated else single


def _single_type(field: Any, enclosing: tuple[str, ...]) -> TypeInformation:  # noqa: PLR0911  one line per type
    kinds = protobuf().descriptor.FieldDescriptor
    match field.cpp_type:
        case kinds.CPPTYPE_INT32:
            return Types.INT()
        case kinds.CPPTYPE_UINT32 | kinds.CPPTYPE_INT64:
            return Types.LONG()
        case kinds.CPPTYPE_UINT64:
            return Types.BIG_INT()
        case kinds.CPPTYPE_FLOAT:
            return Types.FLOAT()
        case kinds.CPPTYPE_DOUBLE:
            return Types.DOUBLE()
        case kinds.CPPTYPE_BOOL:
            return Types.BOOLEAN()
        case kinds.CPPTYPE_ENUM:
            return Types.STRING()
        case kinds.CPPTYPE_STRING:
            return Types.PRIMITIVE_ARRAY(Types.BYTE()) if field.type == kinds.TYPE_BYTES else Types.STRING()
        case _ if field.message_type.full_name == _TIMESTAMP:
            return Types.SQL_TIMESTAMP()
        case _:
            return _row_type(field.message_type, enclosing)


Read = Callable[[Any], Any]


def message_reader(descriptor: Any) -> Read:
    """What makes a tuple of the fields of a message; a field that is not set is None where it can be told."""
    fields = [(field.name, field.has_presence, _field_reader(field)) for field in descriptor.fields]

    def read(message: Any) -> tuple[Any, ...]:
        return tuple(
            None if has_presence and not message.HasField(name) else convert(getattr(message, name))
            for name, has_presence, convert in fields
        )

    return read


def _field_reader(field: Any) -> Read:
    if _is_map(field):
        value = _single_reader(field.message_type.fields_by_name["value"])
        return lambda entries: {key: value(entries[key]) for key in entries}
    single = _single_reader(field)
    return (lambda values: [single(value) for value in values]) if field.is_repeated else single


def _single_reader(field: Any) -> Read:
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return lambda number: names.get(number, str(number))
    if field.message_type is None:
        return _same
    if field.message_type.full_name == _TIMESTAMP:
        return lambda time: _EPOCH + datetime.timedelta(seconds=time.seconds, microseconds=time.nanos // 1000)
    read = message_reader(field.message_type)
    return lambda message: Row(*read(message))


def _same(value: Any) -> Any:
    return value


def fill_message(message: Any, values: dict[str, Any]) -> None:
    """Sets the fields of a message; None leaves a field as it is."""
    for field in message.DESCRIPTOR.fields:
        value = values.get(field.name)
        if value is None:
            continue
        if _is_map(field):
            _fill_map(getattr(message, field.name), value, field.message_type.fields_by_name["value"])
        elif field.is_repeated:
            target = getattr(message, field.name)
            for each in value:
                if field.message_type is None:
                    target.append(_number_of(field, each))
                else:
                    _fill_one(target.add(), each)
        elif field.message_type is not None:
            _fill_one(getattr(message, field.name), value)
        else:
            setattr(message, field.name, _number_of(field, value))


def _fill_map(target: Any, value: dict[Any, Any], value_field: Any) -> None:
    for key, each in value.items():
        if value_field.message_type is None:
            target[key] = _number_of(value_field, each)
        else:
            _fill_one(target[key], each)


def _fill_one(message: Any, value: Any) -> None:
    # Set even where nothing in it is: it is there.
    message.SetInParent()
    if message.DESCRIPTOR.full_name == _TIMESTAMP:
        passed = value - _EPOCH
        message.seconds = passed.days * 86_400 + passed.seconds
        message.nanos = passed.microseconds * 1000
        return
    fill_message(message, fields_of(value, [field.name for field in message.DESCRIPTOR.fields]))


def fields_of(value: Any, names: list[str]) -> dict[str, Any]:
    """The fields of a record by name: of a dict or an object by their names, of a row or tuple by their place."""
    if isinstance(value, dict):
        return value
    if isinstance(value, Row | tuple):
        parts = list(value)
        if len(parts) != len(names):
            raise ValueError(f"{len(parts)} fields are given, and the message has {len(names)}: {names}")
        return dict(zip(names, parts, strict=True))
    return {name: getattr(value, name) for name in names}


def _number_of(field: Any, value: Any) -> Any:
    if field.enum_type is not None and isinstance(value, str):
        known = field.enum_type.values_by_name.get(value)
        return int(value) if known is None else known.number
    return value
