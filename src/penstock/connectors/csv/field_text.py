"""A field of a CSV line and its value, by the field's type."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.common.errors import UnsupportedError
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    DateTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from penstock.connectors.print_text import print_text

Parse = Callable[[str], Any]
"""Raises ValueError for a text that is no value of the type."""


def field_parser(name: str, type_info: TypeInformation, array_delimiter: str) -> Parse:
    """What makes a value of the text of a field."""
    if isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _BASIC:
        return _BASIC[type_info.basic_type]
    for type_class, parse in _TEMPORAL.items():
        if isinstance(type_info, type_class):
            return parse
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes:
        return lambda text: base64.b64decode(text, validate=True)
    if isinstance(type_info, CollectionTypeInfo):
        parse_element = field_parser(name, type_info.element_type, array_delimiter)
        return lambda text: [parse_element(part) for part in text.split(array_delimiter)] if text else []
    raise UnsupportedError(f"field {name} of type {type_info!r} cannot be read from CSV: read it as text")


def field_text(value: Any, array_delimiter: str) -> str:
    """The text of a value that is not None."""
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, list | tuple):
        return array_delimiter.join("" if each is None else field_text(each, array_delimiter) for each in value)
    return str(value) if isinstance(value, datetime.datetime | datetime.time) else print_text(value)


def _boolean(text: str) -> bool:
    return text.strip().lower() == "true"


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"{text!r} is no number") from None


def _integer(text: str) -> int:
    return int(text.strip())


def _float(text: str) -> float:
    return float(text.strip())


_BASIC: dict[BasicType, Parse] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BOOLEAN: _boolean,
    BasicType.BYTE: _integer,
    BasicType.SHORT: _integer,
    BasicType.INT: _integer,
    BasicType.LONG: _integer,
    BasicType.BIG_INT: _integer,
    BasicType.FLOAT: _float,
    BasicType.DOUBLE: _float,
    BasicType.BIG_DEC: _decimal,
}
_TEMPORAL: dict[type[TypeInformation], Parse] = {
    DateTypeInfo: lambda text: datetime.date.fromisoformat(text.strip()),
    TimeTypeInfo: lambda text: datetime.time.fromisoformat(text.strip()),
    TimestampTypeInfo: lambda text: datetime.datetime.fromisoformat(text.strip()),
}
