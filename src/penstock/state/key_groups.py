"""Key groups: the unit in which keyed state is spread over subtasks.

    hash(key)      = fmix32(crc32(encoded key))        fmix32: the 32-bit finaliser of MurmurHash3
    key group      = hash mod max parallelism
    subtask        = key group * parallelism // max parallelism

The hash is part of the format of checkpoints: it never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from penstock.common.errors import ConfigurationError

MAX_PARALLELISM_LIMIT = 1 << 15
_DEFAULT_LOWER_LIMIT = 1 << 7


def key_hash(data: bytes) -> int:
    """The hash of an encoded key: 32 bits, unsigned."""
    value = crc32(data)
    value = ((value ^ (value >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    value = ((value ^ (value >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return value ^ (value >> 16)


def key_group(data: bytes, max_parallelism: int) -> int:
    """The key group of an encoded key."""
    return key_hash(data) % max_parallelism


def subtask_of_key_group(group: int, max_parallelism: int, parallelism: int) -> int:
    """The subtask that owns a key group."""
    return group * parallelism // max_parallelism


def key_group_range(subtask: int, max_parallelism: int, parallelism: int) -> range:
    """The key groups that a subtask owns."""
    start = -(-subtask * max_parallelism // parallelism)
    end = -(-(subtask + 1) * max_parallelism // parallelism)
    return range(start, end)


def default_max_parallelism(parallelism: int) -> int:
    """Flink's rule: the power of two at or above 1.5 times the parallelism, from 128 to 32768."""
    wanted = parallelism + parallelism // 2
    return min(max(1 << (wanted - 1).bit_length(), _DEFAULT_LOWER_LIMIT), MAX_PARALLELISM_LIMIT)


def check_parallelism(parallelism: int, max_parallelism: int) -> None:
    """Raises `ConfigurationError` unless 1 <= parallelism <= max parallelism <= 32768."""
    if not 1 <= parallelism <= max_parallelism <= MAX_PARALLELISM_LIMIT:
        raise ConfigurationError(
            f"parallelism {parallelism} with max parallelism {max_parallelism}: expected "
            f"1 <= parallelism <= max parallelism <= {MAX_PARALLELISM_LIMIT}"
        )


def key_groups_of_keys(keys: Sequence[bytes], max_parallelism: int) -> NDArray[np.int64]:
    """The key group of each of many encoded keys."""
    value = np.fromiter(map(crc32, keys), dtype=np.uint32, count=len(keys))
    value = (value ^ (value >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    value = (value ^ (value >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    value ^= value >> np.uint32(16)
    return (value % np.uint32(max_parallelism)).astype(np.int64)


def subtasks_of_keys(keys: Sequence[bytes], max_parallelism: int, parallelism: int) -> NDArray[np.int32]:
    """The subtask that owns each of many encoded keys."""
    groups = key_groups_of_keys(keys, max_parallelism)
    return (groups * parallelism // max_parallelism).astype(np.int32)
