"""The index of a manifest: which state file is the head of each (stage, subtask). A task reads only its record.

    8 bytes   "PENINDEX"
    u16       version
    u16       number of stages
    per stage: u32 stage, u32 number of records
    8 bytes   checksum of all above
    records, by stage and subtask: u8 present, u64 incarnation, u64 epoch, 16 bytes hash, 8 bytes checksum

Numbers are little-endian; a checksum is blake2b of the stage, the subtask and the record. The path of a state file
is `state/<incarnation>/<epoch>-<stage>-<subtask>-<hash>`, so that a record says it all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from struct import Struct

from penstock.common.errors import StateCorruptionError, StateError
from penstock.state.storage import CheckpointStorage

_MAGIC = b"PENINDEX"
_VERSION = 1
_HEADER = Struct("<8sHH")
_STAGE = Struct("<II")
_RECORD = Struct("<BQQ16s")
_CHECKSUM_BYTES = 8
_RECORD_BYTES = _RECORD.size + _CHECKSUM_BYTES
_FIRST_READ = 4096
_PATH = re.compile(r"state/(\d+)/(\d+)-(\d+)-(\d+)-([0-9a-f]{32})")

Heads = Mapping[tuple[int, int], str]


def write_index(storage: CheckpointStorage, prefix: str, heads: Heads) -> str:
    """Writes the heads by (stage, subtask); returns the path of the index."""
    counts: dict[int, int] = {}
    for stage, subtask in heads:
        counts[stage] = max(counts.get(stage, 0), subtask + 1)
    stages = sorted(counts.items())
    header = _HEADER.pack(_MAGIC, _VERSION, len(stages)) + b"".join(_STAGE.pack(*stage) for stage in stages)
    records = [
        _encode_record(stage, subtask, heads.get((stage, subtask)))
        for stage, count in stages
        for subtask in range(count)
    ]
    return storage.write_staged(prefix, b"".join((header, _checksum(header), *records)))


def read_head(storage: CheckpointStorage, index_path: str, stage: int, subtask: int) -> str | None:
    """The head of one subtask; None where it has no state."""
    stages, start, beginning = _read_header(storage, index_path)
    for each, count in stages:
        if each == stage:
            if subtask >= count:
                return None
            offset = start + subtask * _RECORD_BYTES
            record = beginning[offset : offset + _RECORD_BYTES]
            if len(record) < _RECORD_BYTES:
                record = storage.read_range(index_path, offset, _RECORD_BYTES)
            return _decode_record(storage, index_path, stage, subtask, record)
        start += count * _RECORD_BYTES
    return None


def read_all_heads(storage: CheckpointStorage, index_path: str) -> dict[tuple[int, int], str]:
    """The heads by (stage, subtask)."""
    content = storage.read_verified(index_path)
    stages, start, _ = _read_header(storage, index_path)
    heads: dict[tuple[int, int], str] = {}
    for (stage, subtask), record in zip(_subtasks(stages), _records(content, start), strict=True):
        head = _decode_record(storage, index_path, stage, subtask, record)
        if head is not None:
            heads[stage, subtask] = head
    return heads


def _subtasks(stages: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    return ((stage, subtask) for stage, count in stages for subtask in range(count))


def _records(content: bytes, start: int) -> Iterator[bytes]:
    return (content[at : at + _RECORD_BYTES] for at in range(start, len(content), _RECORD_BYTES))


def _checksum(data: bytes) -> bytes:
    return blake2b(data, digest_size=_CHECKSUM_BYTES).digest()


def _encode_record(stage: int, subtask: int, head: str | None) -> bytes:
    if head is None:
        record = _RECORD.pack(0, 0, 0, b"")
    else:
        match = _PATH.fullmatch(head)
        if match is None or (int(match[3]), int(match[4])) != (stage, subtask):
            raise StateError(
                f"{head!r} cannot be the head of stage {stage}, subtask {subtask}: expected "
                f"state/<incarnation>/<epoch>-{stage}-{subtask}-<hash>"
            )
        record = _RECORD.pack(1, int(match[1]), int(match[2]), bytes.fromhex(match[5]))
    return record + _checksum(_STAGE.pack(stage, subtask) + record)


def _decode_record(storage: CheckpointStorage, path: str, stage: int, subtask: int, data: bytes) -> str | None:
    record, checksum = data[: _RECORD.size], data[_RECORD.size :]
    if len(data) != _RECORD_BYTES or checksum != _checksum(_STAGE.pack(stage, subtask) + record):
        raise _damaged(storage, path, f"the record of stage {stage}, subtask {subtask} has a wrong checksum")
    present, incarnation, epoch, digest = _RECORD.unpack(record)
    return f"state/{incarnation}/{epoch}-{stage}-{subtask}-{digest.hex()}" if present else None


def _read_header(storage: CheckpointStorage, path: str) -> tuple[list[tuple[int, int]], int, bytes]:
    """The stages with their numbers of records, where the records start, and the beginning of the file."""
    beginning = storage.read_range(path, 0, _FIRST_READ)
    if len(beginning) < _HEADER.size:
        raise _damaged(storage, path, "it is too short")
    magic, version, count = _HEADER.unpack_from(beginning)
    if magic != _MAGIC or version != _VERSION:
        raise _damaged(storage, path, f"it is no index of version {_VERSION}")
    end = _HEADER.size + count * _STAGE.size
    start = end + _CHECKSUM_BYTES
    if start > len(beginning):
        beginning = storage.read_range(path, 0, start)
    if beginning[end:start] != _checksum(beginning[:end]):
        raise _damaged(storage, path, "its header has a wrong checksum")
    return list(_STAGE.iter_unpack(beginning[_HEADER.size : end])), start, beginning


def _damaged(storage: CheckpointStorage, path: str, reason: str) -> StateCorruptionError:
    return StateCorruptionError(
        f"the state index {path} in {storage.location} is damaged: {reason}. Restore it from a copy, or start from "
        "an older savepoint."
    )
