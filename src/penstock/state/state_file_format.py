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
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from struct import Struct
from typing import Any, Literal

from penstock.common.errors import StateCorruptionError
from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_sizes import Sizes
from penstock.state.storage import CheckpointStorage

_MAGIC = b"PENSTATE"
_VERSION = 1
_FIXED = Struct("<8sHI")
_FIRST_READ = 1024
_OPTIONAL = ("sizes", "base", "base_of", "pieces")


@dataclass(frozen=True)
class StateFileHeader:
    """What a state file says of itself."""

    kind: Literal["delta", "snapshot", "piece"]
    """A piece is a part of a snapshot, and no state of its own."""
    parent: str | None
    """Delta: the state that it changes, None where that was empty. Else None (older snapshots: what they replace)."""
    incarnation: int
    epoch: int
    entries: int
    chain: int
    """How many deltas must be applied after the snapshot, or the empty state, below this file."""
    delta_bytes: int
    """The size of those deltas."""
    snapshot_bytes: int
    """The size of that snapshot; 0 where there is none."""
    sizes: Sizes = field(default_factory=dict[str, Sequence[int]])
    """How large the state of each operator is."""
    base: str | None = None
    """Delta: a snapshot that stands for one of the states below it, so that what is below that is not needed."""
    base_of: str | None = None
    """The state that `base` stands for."""
    pieces: tuple[str, ...] = ()
    """Snapshot: the files that hold the entries which are not in this one."""


@dataclass(frozen=True)
class StateFile:
    """A state file, read and verified."""

    path: str
    header: StateFileHeader
    entries: SortedEntries


def write_state_file(storage: CheckpointStorage, prefix: str, header: StateFileHeader, body: bytes) -> str:
    """Writes a state file; returns its path."""
    fields = {name: value for name, value in asdict(header).items() if name not in _OPTIONAL or value}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    return storage.write_staged(prefix, _FIXED.pack(_MAGIC, _VERSION, len(text)) + text + body)


def read_state_file(storage: CheckpointStorage, path: str) -> StateFile:
    """Reads a state file and checks it against the hash in its name."""
    content = storage.read_verified(path)
    header, start = _decode_header(storage, path, content)
    try:
        entries = SortedEntries.decode(memoryview(content)[start:], header.entries)
    except ValueError as error:
        raise StateCorruptionError(f"{path} in {storage.location} is damaged: {error}") from error
    return StateFile(path, header, entries)


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
        header: dict[str, Any] = json.loads(content[_FIXED.size : end])
        header["pieces"] = tuple(header.get("pieces", ()))
        return _checked(StateFileHeader(**header)), end
    except Exception as error:
        raise StateCorruptionError(
            f"{path} in {storage.location} is no state file of version {_VERSION}: {error}. Restore it from "
            "a copy, or start from an older savepoint."
        ) from error


def _checked(header: StateFileHeader) -> StateFileHeader:
    numbers = (
        header.incarnation,
        header.epoch,
        header.entries,
        header.chain,
        header.delta_bytes,
        header.snapshot_bytes,
    )
    names = [each for each in (header.parent, header.base, header.base_of) if each is not None] + [*header.pieces]
    is_named = all(type(each) is str for each in names) and (header.base is None) == (header.base_of is None)
    is_known = header.kind in ("delta", "snapshot", "piece")
    if not is_known or not is_named or not all(type(each) is int for each in numbers):
        raise ValueError("its header has other fields")
    if type(header.sizes) is not dict:
        raise ValueError("it does not say how large the state is")
    return header
