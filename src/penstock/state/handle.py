"""What all state handles have in common: the current key, a name, the store beneath."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from penstock.common.errors import PenstockError, StateError, TypeMismatchError
from penstock.state.key_encoding import decode_key
from penstock.state.own_copy import own_copy
from penstock.state.state_keys import StateKeys
from penstock.state.store import StateStore
from penstock.state.value_serializers import ValueSerializer

DEFAULT_CACHE_LIMIT = 1_000_000
"""How many decoded values each handle may keep in memory from one epoch to the next."""

Cached = TypeVar("Cached")


class CurrentKey(Protocol):
    """Says which key handles work on."""

    current_key: bytes | None


class StateHandle:
    """Keeps decoded values of many keys in memory; `flush` writes those that were set to the store."""

    _cache: dict[bytes | None, Any]

    def __init__(self, name: str, owner: CurrentKey, store: StateStore, keys: StateKeys, cache_limit: int) -> None:
        self.name = name
        self.keys_in_store = keys
        self._owner = owner
        self._store = store
        self._cache_limit = cache_limit

    def flush(self) -> None:
        """Writes what was set since the last time to the store, and bounds the memory in use."""
        raise NotImplementedError

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        raise NotImplementedError

    def forget(self, key: bytes) -> None:
        """Drops what is cached of a key that will hardly come again; what was set of it must have been written."""
        self._cache.pop(key, None)

    def _required_key(self) -> bytes:
        key = self._owner.current_key
        if key is None:
            raise StateError(
                f"state '{self.name}' is used without a current key: keyed state can be read and written only while "
                "a record or a timer of a keyed stream is processed"
            )
        return key

    def _owned(self, value: Any) -> Any:
        """What is kept of a value that the caller may go on changing."""
        try:
            return own_copy(value)
        except Exception as error:
            raise self._cannot_save(self._required_key(), value, error) from error

    def _cannot_save(self, key: bytes, value: Any, error: Exception) -> PenstockError:
        try:
            readable = repr(decode_key(key)) if key else "no key"
        except PenstockError:
            readable = key.hex()
        kind = TypeMismatchError if isinstance(error, TypeMismatchError) else StateError
        return kind(f"state '{self.name}', key {readable}: cannot save {value!r}: {error}")


class ContainerHandle(StateHandle, Generic[Cached]):
    """A handle of state that has many values for each key; what is cached of a key knows what must be saved of it."""

    def __init__(
        self,
        name: str,
        owner: CurrentKey,
        store: StateStore,
        keys: StateKeys,
        cache_limit: int,
        serializer: ValueSerializer,
    ) -> None:
        super().__init__(name, owner, store, keys, cache_limit)
        self._serializer = serializer
        self._expected = serializer.expected
        self._copies = serializer.may_change
        self._cache: dict[bytes | None, Cached] = {}
        self._dirty: dict[bytes, None] = {}
        self._size = 0
        """The values in the cache, roughly."""

    def flush(self) -> None:
        """Writes what was set since the last time to the store."""
        keys = list(self._dirty)
        for key, prefix in zip(keys, self.keys_in_store.of_all(keys), strict=True):
            self._save(key, prefix, self._cache[key])
        if self._size > self._cache_limit:
            self._cache = {}
            self._size = 0
        self._dirty = {}

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        self._cache = {}
        self._dirty = {}
        self._size = 0

    @abstractmethod
    def _load(self, key: bytes) -> Cached:
        """What is cached of a key that was not used yet."""

    @abstractmethod
    def _save(self, key: bytes, prefix: bytes, cached: Cached) -> None:
        """Writes what was set of a key to the store, whose keys begin with `prefix`."""

    def _current(self) -> Cached:
        try:
            return self._cache[self._owner.current_key]
        except KeyError:
            key = self._required_key()
            cached = self._cache[key] = self._load(key)
            return cached

    def _changing(self) -> Cached:
        cached = self._current()
        self._dirty[self._owner.current_key] = None  # type: ignore[index]
        return cached

    def _kept(self, value: Any) -> Any:
        """What is kept of a value that is given."""
        if self._copies:
            return self._owned(value)
        return value if type(value) is self._expected else self._serializer.convert(value)
