"""State of a key and something else, such as a window: the *namespace*.

What stands for both is

    key | namespace | u16 length of the namespace

The key alone decides the key group.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from penstock.common.errors import StateError
from penstock.state.key_groups import key_group, key_groups_of_keys
from penstock.state.state_keys import StateKeys

_GROUP_AND_LENGTH = Struct(">HI")
_LENGTH_BYTES = 2
_LONGEST = 0xFFFF


def namespace_suffix(namespace: bytes) -> bytes:
    """What is added to an encoded key to make it the key and that namespace."""
    if len(namespace) > _LONGEST:
        raise StateError(f"a window takes {len(namespace)} bytes; expected at most {_LONGEST}")
    return namespace + len(namespace).to_bytes(_LENGTH_BYTES, "big")


def without_namespace(key_and_namespace: bytes) -> bytes:
    """The encoded key again."""
    length = int.from_bytes(key_and_namespace[-_LENGTH_BYTES:], "big")
    return key_and_namespace[: -_LENGTH_BYTES - length]


def namespace_in(key_and_namespace: bytes) -> bytes:
    """The namespace again."""
    length = int.from_bytes(key_and_namespace[-_LENGTH_BYTES:], "big")
    return key_and_namespace[-_LENGTH_BYTES - length : -_LENGTH_BYTES]


class NamespacedKeys(StateKeys):
    """The store keys of one piece of state of keys and namespaces."""

    is_namespaced = True

    def of(self, key: bytes) -> bytes:
        """The store key of a key and a namespace."""
        group = key_group(without_namespace(key), self._max_parallelism)
        return self.prefix + _GROUP_AND_LENGTH.pack(group, len(key)) + key

    def of_all(self, keys: Sequence[bytes]) -> list[bytes]:
        """The store keys of many keys and namespaces."""
        groups = key_groups_of_keys([without_namespace(key) for key in keys], self._max_parallelism).tolist()
        prefix, pack = self.prefix, _GROUP_AND_LENGTH.pack
        return [prefix + pack(group, len(key)) + key for group, key in zip(groups, keys, strict=True)]
