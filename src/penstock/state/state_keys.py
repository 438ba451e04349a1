"""Where a piece of state is in its store.

    8 bytes   blake2b of the operator's uid
    4 bytes   blake2b of the state's name
    u16       key group; ffff for broadcast state, fffd for operator state
    u32       length of the key
    key, then what the kind of state adds: nothing, the number of a part of a list, the key of a map's entry

Numbers are big-endian: the entries of a key group, and those of a key, lie together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import groupby
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from penstock.state.key_groups import key_group, key_groups_of_keys
from penstock.state.store import StateStore

PREFIX_BYTES = 12
"""What the keys of all entries of a piece of state begin with has so many bytes."""
_GROUP_AND_LENGTH = Struct(">HI")
_HEAD_BYTES = PREFIX_BYTES + _GROUP_AND_LENGTH.size
_END_OF_KEY_GROUPS = 0x8000
_BROADCAST_GROUP = 0xFFFF
_OPERATOR_GROUP = 0xFFFD


class StateKeys:
    """The store keys of one piece of keyed state."""

    is_namespaced = False
    """Whether entries belong to a key and a namespace."""

    def __init__(self, uid: str, name: str, max_parallelism: int) -> None:
        self.prefix = _digest(uid, 8) + _digest(name, 4)
        self._max_parallelism = max_parallelism

    def of(self, key: bytes) -> bytes:
        """The store key of an encoded key."""
        group = key_group(key, self._max_parallelism)
        return self.prefix + _GROUP_AND_LENGTH.pack(group, len(key)) + key

    def of_all(self, keys: Sequence[bytes]) -> list[bytes]:
        """The store keys of many encoded keys."""
        numbers = key_groups_of_keys(keys, self._max_parallelism)
        if len(set(map(len, keys))) == 1:
            return self._of_same_length(keys, numbers)
        groups = numbers.tolist()
        heads: dict[tuple[int, int], bytes] = {}
        for group, length in set(zip(groups, map(len, keys), strict=True)):
            heads[group, length] = self.prefix + _GROUP_AND_LENGTH.pack(group, length)
        return [heads[group, len(key)] + key for group, key in zip(groups, keys, strict=True)]

    def _of_same_length(self, keys: Sequence[bytes], groups: NDArray[np.int64]) -> list[bytes]:
        """Numbers, say: made at once, in one piece of memory."""
        length = len(keys[0])
        parts = ("prefix", "u1", (PREFIX_BYTES,)), ("group", ">u2"), ("length", ">u4"), ("key", f"V{length}")
        layout = np.dtype(list(parts))
        entries = np.empty(len(keys), layout)
        entries["prefix"] = np.frombuffer(self.prefix, np.uint8)
        entries["group"] = groups
        entries["length"] = length
        entries["key"] = np.frombuffer(b"".join(keys), f"V{length}")
        data, width = entries.tobytes(), layout.itemsize
        return [data[start : start + width] for start in range(0, len(data), width)]

    def stored_keys(self, store: StateStore) -> Iterator[bytes]:
        """The encoded keys that have something in the store."""
        return (key for key, _ in groupby(key_in(store_key) for store_key, _ in store.scan(*self.range)))

    @property
    def range(self) -> tuple[bytes, bytes]:
        """Where the entries of all keys are: start and end."""
        return self.prefix, self.prefix + _END_OF_KEY_GROUPS.to_bytes(2, "big")


class _KeysOfNoKey(StateKeys):
    group: int

    def __init__(self, uid: str, name: str) -> None:
        super().__init__(uid, name, 1)
        self._store_key = self.prefix + _GROUP_AND_LENGTH.pack(self.group, 0)

    def of(self, key: bytes) -> bytes:
        """The one store key."""
        return self._store_key

    def of_all(self, keys: Sequence[bytes]) -> list[bytes]:
        """The one store key, for each."""
        return [self._store_key] * len(keys)


class BroadcastKeys(_KeysOfNoKey):
    """The store keys of one piece of broadcast state, which has no key."""

    group = _BROADCAST_GROUP


class OperatorKeys(_KeysOfNoKey):
    """The store keys of one piece of operator state, which has no key."""

    group = _OPERATOR_GROUP


def end_of_prefix(prefix: bytes) -> bytes:
    """The end of the range of all keys that start with `prefix`."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,))


def delete_prefix(store: StateStore, prefix: bytes) -> None:
    """Removes all entries whose keys start with `prefix`."""
    for key, _ in list(store.scan(prefix, end_of_prefix(prefix))):
        store.delete(key)


def key_in(store_key: bytes) -> bytes:
    """The encoded key of an entry of keyed state."""
    _, length = _GROUP_AND_LENGTH.unpack_from(store_key, PREFIX_BYTES)
    return store_key[_HEAD_BYTES : _HEAD_BYTES + length]


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode(), digest_size=size).digest()
