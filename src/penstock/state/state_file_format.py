"""The format of a state file.

    8 bytes   "PENSTATE"
    u16       version
    u32       length of the header
    header    JSON
    u32 * n   length of each key
    i32 * n   length of each value, -1 where the key is deleted
    keys, then values, one after the other; entries are sorted by key

Numbers are little-endian. The hash in the name is the checksum.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from struct import Struct
from typing import Literal

import numpy as np

from penstock.common.errors import StateCorruptionError
from penstock.state.storage import CheckpointStorage
from penstock.state.store import Entry

_MAGIC = b"PENSTATE"
_VERSION = 1
_FIXED = Struct("<8sHI")
_FIRST_READ = 1024


@dataclass(frozen=True)
class StateFileHeader:
    """What a state file says of itself."""

    kind: Literal["delta", "snapshot"]
    parent: str | None
    """Delta: the state that it changes, None where that was empty. Snapshot: the file that it replaces."""
    incarnation: int
    epoch: int
    entries: int
    chain: int
    """How many deltas must be applied after the snapshot, or the empty state, below this file."""
    delta_bytes: int
    """The size of those deltas."""
    snapshot_bytes: int
    """The size of that snapshot; 0 where there is none."""


@dataclass(frozen=True)
class StateFile:
    """A state file, read and verified."""

    path: str
    header: StateFileHeader
    entries: list[Entry]


def write_state_file(storage: CheckpointStorage, prefix: str, header: StateFileHeader, body: bytes) -> str:
    """Writes a state file; returns its path."""
    text = json.dumps(asdict(header), sort_keys=True, separators=(",", ":")).encode()
    return storage.write_staged(prefix, _FIXED.pack(_MAGIC, _VERSION, len(text)) + text + body)


def read_state_file(storage: CheckpointStorage, path: str) -> StateFile:
    """Reads a state file and checks it against the hash in its name."""
    content = storage.read_verified(path)
    header, start = _decode_header(storage, path, content)
    return StateFile(path, header, _decode_entries(content, start, header.entries))


def read_header(storage: CheckpointStorage, path: str) -> StateFileHeader:
    """Reads what a state file says of itself. The content is not verified."""
    beginning = storage.read_range(path, 0, _FIRST_READ)
    if len(beginning) >= _FIXED.size:
        end = _FIXED.size + _FIXED.unpack_from(beginning)[2]
        if _FIRST_READ < end < 1 << 20:
            beginning = storage.read_range(path, 0, end)
    return _decode_header(storage, path, beginning)[0]


def _decode_header(storage: CheckpointStorage, path: str, content: bytes) -> tuple[StateFileHeader, int]:
    try:
        magic, version, length = _FIXED.unpack_from(content)
        if magic != _MAGIC or version != _VERSION:
            raise ValueError(f"it starts with {content[:10]!r}")
        end = _FIXED.size + length
        header: Mapping[str, object] = json.loads(content[_FIXED.size : end])
        return StateFileHeader(**header), end  # type: ignore[arg-type]
    except Exception as error:
        raise StateCorruptionError(
            f"{path} in {storage.location} is no state file of version {_VERSION}: {error}. Restore it from "
            "a copy, or start from an older savepoint."
        ) from error


def encode_entries(entries: Sequence[Entry]) -> bytes:
    """The entries, sorted by key, as the body of a state file."""
    keys = [key for key, _ in entries]
    values = [value for _, value in entries]
    key_lengths = np.fromiter(map(len, keys), dtype="<u4", count=len(keys))
    value_lengths = np.fromiter((-1 if v is None else len(v) for v in values), dtype="<i4", count=len(keys))
    present = [value for value in values if value is not None]
    return b"".join((key_lengths.tobytes(), value_lengths.tobytes(), *keys, *present))


def _decode_entries(content: bytes, start: int, count: int) -> list[Entry]:
    key_lengths = np.frombuffer(content, dtype="<u4", count=count, offset=start)
    value_lengths = np.frombuffer(content, dtype="<i4", count=count, offset=start + 4 * count)
    keys_start = start + 8 * count
    key_ends = keys_start + np.cumsum(key_lengths, dtype=np.int64)
    values_start = int(key_ends[-1]) if count else keys_start
    value_ends = values_start + np.cumsum(np.maximum(value_lengths, 0), dtype=np.int64)
    entries: list[Entry] = []
    key_at, value_at = keys_start, values_start
    lengths = value_lengths.tolist()
    for key_end, value_end, length in zip(key_ends.tolist(), value_ends.tolist(), lengths, strict=True):
        entries.append((content[key_at:key_end], None if length < 0 else content[value_at:value_end]))
        key_at, value_at = key_end, value_end
    return entries
