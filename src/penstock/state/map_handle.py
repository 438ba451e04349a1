"""The handle of map state: every entry is one entry of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.state.handle import ContainerHandle, CurrentKey
from penstock.state.key_encoding import decode_key, encode_key
from penstock.state.own_copy import own_copy
from penstock.state.state import MapState
from penstock.state.state_keys import StateKeys, delete_prefix, end_of_prefix
from penstock.state.store import StateStore
from penstock.state.value_serializers import ValueSerializer

_ABSENT = object()
_UNKNOWN = object()
_OWN_IDENTITY = frozenset({str, int})
_OWN_IDENTITY_TAGS = frozenset({0x03, 0x04, 0x07})


def _identity(key: Any) -> Any:
    """What stands for a map key in memory: `1 == 1.0 == True` in Python, but they are three keys of state.

    Strings and ints stand for themselves, everything else is encoded.
    """
    return key if type(key) in _OWN_IDENTITY else _identity_of_encoded(encode_key(key))


def _identity_of_encoded(data: bytes) -> Any:
    return decode_key(data) if data[0] in _OWN_IDENTITY_TAGS else data


def _encoded(identity: Any) -> bytes:
    return identity if type(identity) is bytes else encode_key(identity)


def _key(identity: Any) -> Any:
    return decode_key(identity) if type(identity) is bytes else identity


class CachedMap:
    """What is known of the map of one key."""

    __slots__ = ("cleared", "complete", "dirty", "ordered", "values")

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        """By identity; _ABSENT where it is known that there is no such key."""
        self.complete = False
        """True when keys that are not in `values` are known not to be there."""
        self.ordered = False
        """True when `values` is complete, without absent ones, in the order of encoded keys."""
        self.dirty: dict[Any, None] = {}
        self.cleared = False
        """True when what the store has is to be removed."""


class MapHandle(ContainerHandle[CachedMap], MapState[Any, Any]):
    """`MapState`."""

    def __init__(
        self,
        name: str,
        owner: CurrentKey,
        store: StateStore,
        keys: StateKeys,
        cache_limit: int,
        key_serializer: ValueSerializer,
        value_serializer: ValueSerializer,
    ) -> None:
        super().__init__(name, owner, store, keys, cache_limit, value_serializer)
        self._convert_key = key_serializer.convert
        self._own_identity = _OWN_IDENTITY & {key_serializer.expected} if key_serializer.expected else _OWN_IDENTITY

    def get(self, key: Any) -> Any:
        """The value of a key; None when there is none."""
        identity = key if type(key) in self._own_identity else self._identity(key)
        try:
            value = self._cache[self._owner.current_key].values[identity]
        except KeyError:
            value = self._load_entry(identity)
        if value is _ABSENT:
            return None
        return own_copy(value) if self._copies else value

    def contains(self, key: Any) -> bool:
        """Whether there is a value of this key."""
        identity = self._identity(key)
        value = self._current().values.get(identity, _UNKNOWN)
        return (self._load_entry(identity) if value is _UNKNOWN else value) is not _ABSENT

    def put(self, key: Any, value: Any) -> None:
        """Sets the value of a key."""
        if type(value) is not self._expected:
            value = self._kept(value)
        identity = key if type(key) in self._own_identity else self._identity(key)
        cached = self._changing()
        if identity not in cached.values:
            self._size += 1
            cached.ordered = False
        cached.values[identity] = value
        cached.dirty[identity] = None

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Sets the values of many keys: of a dict, or of pairs."""
        for key, value in dict_value.items() if isinstance(dict_value, Mapping) else dict_value:
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Removes a key."""
        identity = self._identity(key)
        cached = self._changing()
        if cached.complete:
            cached.values.pop(identity, None)
        else:
            cached.values[identity] = _ABSENT
        cached.dirty[identity] = None

    def items(self) -> list[tuple[Any, Any]]:
        """The keys with their values."""
        entries = self._entries()
        return [(key, own_copy(value)) for key, value in entries] if self._copies else entries

    def keys(self) -> list[Any]:
        """The keys."""
        return [_key(identity) for identity in self._all()]

    def values(self) -> list[Any]:
        """The values."""
        values = self._all().values()
        return list(map(own_copy, values) if self._copies else values)

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not self._all()

    def clear(self) -> None:
        """Removes all keys."""
        cached = self._changing()
        cached.values = {}
        cached.dirty = {}
        cached.complete = cached.ordered = cached.cleared = True

    def _load(self, key: bytes) -> CachedMap:
        self._size += 1
        return CachedMap()

    def _save(self, key: bytes, prefix: bytes, cached: CachedMap) -> None:
        if cached.cleared:
            delete_prefix(self._store, prefix)
            cached.cleared = False
        for identity in cached.dirty:
            value = cached.values.get(identity, _ABSENT)
            store_key = prefix + _encoded(identity)
            if value is _ABSENT:
                self._store.delete(store_key)
                continue
            try:
                data = self._serializer.dumps(value)
            except Exception as error:
                raise self._cannot_save(key, value, error) from error
            self._store.put(store_key, data)
        cached.dirty = {}

    def _entries(self) -> list[tuple[Any, Any]]:
        """The keys with the values as they are kept."""
        return [(_key(identity), value) for identity, value in self._all().items()]

    def _identity(self, key: Any) -> Any:
        return _identity(self._convert_key(key))

    def _load_entry(self, identity: Any) -> Any:
        cached = self._current()
        if cached.complete:
            return _ABSENT
        data = self._store.get(self.keys_in_store.of(self._required_key()) + _encoded(identity))
        value = cached.values[identity] = _ABSENT if data is None else self._serializer.loads(data)
        self._size += 1
        return value

    def _all(self) -> dict[Any, Any]:
        cached = self._current()
        if not cached.complete:
            self._load_missing(cached)
        if not cached.ordered:
            present = [(i, v) for i, v in cached.values.items() if v is not _ABSENT]
            present.sort(key=lambda entry: _encoded(entry[0]))
            cached.values = dict(present)
            cached.ordered = True
        return cached.values

    def _load_missing(self, cached: CachedMap) -> None:
        prefix = self.keys_in_store.of(self._required_key())
        for store_key, data in self._store.scan(prefix, end_of_prefix(prefix)):
            identity = _identity_of_encoded(store_key[len(prefix) :])
            if identity not in cached.values:
                cached.values[identity] = self._serializer.loads(data)
                self._size += 1
        cached.complete = True
