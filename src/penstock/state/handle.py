"""What all state handles have in common: the current key, a name, the store beneath."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.common.errors import PenstockError, StateError, TypeMismatchError
from penstock.state.key_encoding import decode_key
from penstock.state.state_keys import StateKeys
from penstock.state.store import StateStore

DEFAULT_CACHE_LIMIT = 1_000_000
"""How many decoded values each handle may keep in memory from one epoch to the next."""


class CurrentKey(Protocol):
    """Says which key handles work on."""

    current_key: bytes | None


class StateHandle:
    """Keeps decoded values of many keys in memory; `flush` writes those that were set to the store."""

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

    def _required_key(self) -> bytes:
        key = self._owner.current_key
        if key is None:
            raise StateError(
                f"state '{self.name}' is used without a current key: keyed state can be read and written only while "
                "a record or a timer of a keyed stream is processed"
            )
        return key

    def _cannot_save(self, key: bytes, value: Any, error: Exception) -> PenstockError:
        try:
            readable = repr(decode_key(key)) if key else "no key"
        except PenstockError:
            readable = key.hex()
        kind = TypeMismatchError if isinstance(error, TypeMismatchError) else StateError
        return kind(f"state '{self.name}', key {readable}: cannot save {value!r}: {error}")
