"""Where timers are in their store.

    8 bytes   blake2b of the operator's uid
    4 bytes   "\\0tme" for event time, "\\0tmp" for processing time
    u64       timestamp in ms, + 2**63
    u16       key group
    u32       length of the key
    key, then the namespace

Numbers are big-endian, so that the order of the store is the order of firing. The value is empty.
"""

from __future__ import annotations

from struct import Struct

PREFIX_BYTES = 12
EVENT_TIME_TAG = b"\0tme"
PROCESSING_TIME_TAG = b"\0tmp"
TIMER_HEAD = Struct(">QHI")
TIMESTAMP_OFFSET = 1 << 63
_KEY_AT = PREFIX_BYTES + TIMER_HEAD.size


def timer_key(prefix: bytes, timestamp: int, group: int, key: bytes, namespace: bytes) -> bytes:
    """The store key of a timer; `prefix` is that of the operator and the time domain."""
    return prefix + TIMER_HEAD.pack(timestamp + TIMESTAMP_OFFSET, group, len(key)) + key + namespace


def time_in(store_key: bytes) -> int:
    """The timestamp of a timer."""
    return TIMER_HEAD.unpack_from(store_key, PREFIX_BYTES)[0] - TIMESTAMP_OFFSET


def timer_in(store_key: bytes) -> tuple[int, bytes, bytes]:
    """Timestamp, encoded key and namespace of a timer."""
    moved_timestamp, _, key_length = TIMER_HEAD.unpack_from(store_key, PREFIX_BYTES)
    namespace_at = _KEY_AT + key_length
    return moved_timestamp - TIMESTAMP_OFFSET, store_key[_KEY_AT:namespace_at], store_key[namespace_at:]
