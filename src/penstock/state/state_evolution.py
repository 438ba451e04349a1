"""State that an older program stored, made what a newer one declares: once, when the state is first asked for."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.errors import StateError, StateMisfitError
from penstock.common.type_json import TypeJson, type_from_json
from penstock.common.typeinfo import (
    CollectionTypeInfo,
    CompositeTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from penstock.state.migrations import Migration, route
from penstock.state.plain_values import from_plain, to_plain
from penstock.state.state_keys import end_of_prefix
from penstock.state.state_schema import (
    BUCKETS,
    LIST,
    OPERATOR_LIST,
    StateSchema,
    is_opaque,
    stored_serializer,
)
from penstock.state.store import StateStore
from penstock.state.ttl_serializer import UsedValueSerializer
from penstock.state.type_evolution import IncompatibleTypeError, conversion
from penstock.state.value_serializers import OneByOne, ValueSerializer

ValueChange = Callable[[Any], Any]
"""From the plain value that was stored to the plain value to store; None is never given."""


def planned_change(stored: StateSchema, wanted: StateSchema, descriptor: StateDescriptor) -> ValueChange | None:
    """How each value must be changed; None where nothing is to be done. Raises `IncompatibleTypeError`."""
    if stored.form != wanted.form or stored.namespaced != wanted.namespaced:
        raise IncompatibleTypeError(f"stored as a {stored.form}, asked for as a {wanted.form}")
    if stored.version != wanted.version:
        return _by_migrations(stored, wanted, descriptor)
    if stored.key != wanted.key and conversion(stored.key, _key_type(descriptor)) is not None:
        raise IncompatibleTypeError("the keys of a map cannot change their type")
    return conversion(stored.value, _value_type(descriptor))


def evolve(
    store: StateStore, place: str, prefix: bytes, stored: StateSchema, wanted: StateSchema, descriptor: StateDescriptor
) -> None:
    """Rewrites the entries of a piece of state whose stored form is not the wanted one.

    `place` names the state in messages; `prefix` is what its keys begin with.
    """
    if stored == wanted or next(store.scan(prefix, end_of_prefix(prefix)), None) is None:
        return
    try:
        change = planned_change(stored, wanted, descriptor)
    except IncompatibleTypeError as error:
        raise StateMisfitError(
            f"{place} does not fit the program: {error}. Declare what was stored, write a migration "
            "(`@migrate`, `descriptor.with_version`), or give the state another name."
        ) from None
    if stored.expires != wanted.expires:
        return  # refused, with a better message, where the time to live is looked at
    same_bytes = change is None and stored.value == wanted.value
    if same_bytes:
        return
    reads, writes = _framed(stored), _framed(wanted)
    many = stored.form in (LIST, BUCKETS, OPERATOR_LIST)
    for key, data in list(store.scan(prefix, end_of_prefix(prefix))):
        try:
            values = reads.loads_many(data) if many else [reads.loads(data)]
            changed = [_changed(value, change, expires=stored.expires) for value in values]
            store.put(key, writes.dumps_many(changed) if many else writes.dumps(changed[0]))
        except Exception as error:
            raise StateError(f"{place} cannot be migrated: {type(error).__name__}: {error}") from error


def _changed(value: Any, change: ValueChange | None, *, expires: bool) -> Any:
    if expires:
        return value[0], _changed(value[1], change, expires=False)
    return value if value is None or change is None else change(value)


def _framed(schema: StateSchema) -> ValueSerializer:
    serializer: ValueSerializer = _PickledLists() if is_opaque(schema) else stored_serializer(schema.value)
    if schema.form == OPERATOR_LIST:
        serializer = OneByOne(serializer)
    return UsedValueSerializer(serializer) if schema.expires else serializer


class _PickledLists(ValueSerializer):
    """Lists of Python objects are one pickle; their elements are given on as pickles of their own."""

    def dumps(self, value: Any) -> bytes:
        raise NotImplementedError

    def loads(self, data: bytes) -> Any:
        raise NotImplementedError

    def dumps_many(self, values: Sequence[Any]) -> bytes:
        return pickle.dumps([None if value is None else pickle.loads(value) for value in values], 5)

    def loads_many(self, data: bytes) -> list[Any]:
        return [None if value is None else pickle.dumps(value, 5) for value in pickle.loads(data)]


def _by_migrations(stored: StateSchema, wanted: StateSchema, descriptor: StateDescriptor) -> ValueChange:
    steps = route(descriptor.migrations, stored.version, wanted.version)
    if steps is None:
        known = ", ".join(f"{each.from_version} to {each.to_version}" for each in descriptor.migrations) or "none"
        raise IncompatibleTypeError(
            f"stored in version {stored.version}, declared in version {wanted.version}, and the migrations that there "
            f"are ({known}) do not lead there"
        )
    before = from_plain(_readable(stored.value))
    after = _value_type(descriptor)
    finish = to_plain(after) if after is not None else pickle.dumps
    return lambda plain: _migrated(plain, before, steps, finish)


def _migrated(
    plain: Any, before: ValueChange | None, steps: Sequence[Migration], finish: Callable[[Any], Any] | None
) -> Any:
    value = plain if before is None else before(plain)
    for step in steps:
        value = step(value)
    return value if value is None or finish is None else finish(value)


def _readable(form: TypeJson) -> TypeInformation:
    """A type whose values a migration is given: what had a class comes as a `Row`."""
    return _with_rows(type_from_json(form))


def _with_rows(type_info: TypeInformation) -> TypeInformation:
    match type_info:
        case TupleTypeInfo():
            return TupleTypeInfo(list(map(_with_rows, type_info.get_field_types())))
        case CompositeTypeInfo():
            return RowTypeInfo(list(map(_with_rows, type_info.get_field_types())), type_info.get_field_names())
        case MapTypeInfo():
            return MapTypeInfo(_with_rows(type_info.key_type), _with_rows(type_info.value_type))
        case CollectionTypeInfo():
            return type(type_info)(_with_rows(type_info.element_type))
        case _:
            return type_info


def _value_type(descriptor: StateDescriptor) -> TypeInformation | None:
    if isinstance(descriptor, ListStateDescriptor):
        return descriptor.element_type
    return descriptor.value_type if isinstance(descriptor, MapStateDescriptor) else descriptor.type_info


def _key_type(descriptor: StateDescriptor) -> TypeInformation | None:
    return descriptor.key_type if isinstance(descriptor, MapStateDescriptor) else None
