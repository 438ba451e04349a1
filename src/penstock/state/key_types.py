"""Which declared types of keys give equal keys the same bytes."""

from __future__ import annotations

from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CompositeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

_WHOLE_NUMBERS = (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG)


def encoding_name(key_type: TypeInformation | None) -> str:
    """The same for types whose keys have the same bytes; empty where it is the key itself that decides."""
    return "" if key_type is None or _is_open(key_type) else _name(key_type)


def encoding_type(key_type: TypeInformation) -> TypeInformation:
    """A type whose keys have the same bytes: how many bits a whole number has makes no difference."""
    if isinstance(key_type, BasicTypeInfo) and key_type.basic_type in _WHOLE_NUMBERS:
        return Types.LONG()
    if isinstance(key_type, TupleTypeInfo):
        return TupleTypeInfo([encoding_type(field) for field in key_type.get_field_types()])
    return key_type


def _name(key_type: TypeInformation) -> str:
    if not isinstance(key_type, CompositeTypeInfo):
        return str(encoding_type(key_type))
    fields = zip(key_type.get_field_names(), key_type.get_field_types(), strict=True)
    kind = str(key_type).partition("(")[0]
    return f"{kind}({', '.join(f'{name}: {_name(field)}' for name, field in fields)})"


def _is_open(key_type: TypeInformation) -> bool:
    if isinstance(key_type, CompositeTypeInfo):
        return any(map(_is_open, key_type.get_field_types()))
    return key_type.is_pickled
