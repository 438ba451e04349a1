"""What form the entries of a piece of state have: kept beside them, so that whoever reads them knows."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from penstock.common.errors import InvalidTypeError, StateCorruptionError
from penstock.common.type_json import OBJECT, TypeJson, type_from_json, type_to_json
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    MapTypeInfo,
    TypeInformation,
    Types,
)
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from penstock.state.value_serializers import ValueSerializer, serializer_for

VALUE = "value"
"""An entry is one value."""
LIST = "list"
"""An entry is a part of a list."""
MAP = "map"
"""An entry is one value, under the key of a map."""
BUCKETS = "buckets"
"""An entry is a list, under a time."""
OPERATOR_LIST = "operator list"
"""An entry is a part of a list of no key; its elements are put together one by one."""
UNION_LIST = "union list"
"""There are no entries: the driver keeps the lists."""
FORMS = (VALUE, LIST, MAP, BUCKETS, OPERATOR_LIST, UNION_LIST)

_FORM_OF_KIND = {
    "ListState": LIST,
    "MapState": MAP,
    "BroadcastState": MAP,
    "OperatorListState": OPERATOR_LIST,
    "UnionListState": UNION_LIST,
}


@dataclass(frozen=True)
class StateSchema:
    """The form of the entries of one piece of state."""

    form: str
    value: TypeJson
    """The type of values or elements."""
    key: TypeJson = OBJECT
    """The type of the keys of a map."""
    namespaced: bool = False
    """Whether entries belong to a key and a namespace, such as a window."""
    expires: bool = False
    """Whether values have the time of their last use with them."""
    version: int = 1

    def to_text(self) -> str:
        """As it is stored."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_text(cls, text: str, where: str) -> StateSchema:
        """The schema again; anything but what was written is an error that names the place."""
        try:
            schema = cls(**json.loads(text))
            type_from_json(schema.value)
            type_from_json(schema.key)
            fits = schema.form in FORMS and type(schema.version) is int
            fits = fits and type(schema.namespaced) is bool and type(schema.expires) is bool
        except (ValueError, TypeError, InvalidTypeError) as error:
            raise StateCorruptionError(f"{where}: {text!r} does not describe state: {error}") from None
        if not fits:
            raise StateCorruptionError(f"{where}: {text!r} does not describe state")
        return schema


def schema_of(
    descriptor: StateDescriptor, kind: str, *, form: str | None = None, namespaced: bool = False
) -> StateSchema:
    """The form that state of a descriptor has."""
    value, key = descriptor.type_info, None
    if isinstance(descriptor, ListStateDescriptor):
        value = descriptor.element_type
    elif isinstance(descriptor, MapStateDescriptor):
        value, key = descriptor.value_type, descriptor.key_type
    return StateSchema(
        form or _FORM_OF_KIND.get(kind, VALUE),
        type_to_json(value),
        type_to_json(key),
        namespaced,
        descriptor.time_to_live is not None,
        descriptor.version,
    )


_STORED_INSTANT = Types.TUPLE([Types.LONG(), Types.INT()])
_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


def stored_type(form: TypeJson) -> TypeInformation:
    """A type whose values are the plain values that are stored of a type: no class is needed to read them.

    Python objects are the bytes of their pickles.
    """
    return _stored(type_from_json(form))


def _stored(type_info: TypeInformation) -> TypeInformation:
    match type_info:
        case BasicTypeInfo(basic_type=BasicType.INSTANT):
            return _STORED_INSTANT
        case CompositeTypeInfo():
            return CompositeTypeInfo(type_info.get_field_names(), list(map(_stored, type_info.get_field_types())))
        case MapTypeInfo():
            return MapTypeInfo(_stored(type_info.key_type), _stored(type_info.value_type))
        case CollectionTypeInfo():
            element = _stored(type_info.element_type)
            return type_info if element == type_info.element_type else type(type_info)(element)
        case _:
            return _BYTES if type_info.is_pickled else type_info


def stored_serializer(form: TypeJson) -> ValueSerializer:
    """From stored bytes to plain values and back."""
    return serializer_for(stored_type(form))


def is_opaque(schema: StateSchema) -> bool:
    """Whether entries are pickles of several values, which cannot be told apart without reading them."""
    return schema.value == OBJECT and schema.form in (LIST, BUCKETS)
