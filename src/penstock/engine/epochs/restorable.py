"""What can still be restored when files of a checkpoint are damaged or missing."""

from __future__ import annotations

from penstock.common.errors import PenstockError
from penstock.engine.epochs.manifest import EPOCH, Manifest
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.state.index import read_all_heads
from penstock.state.state_files import live_files
from penstock.state.storage import CheckpointStorage


def newest_restorable(storage: CheckpointStorage) -> int | None:
    """The newest epoch of which every file is there and whole; None where there is none. Reads them all."""
    log = ManifestLog(storage, token="")
    whole: set[str] = set()
    for number in reversed(log.numbers()):
        try:
            manifest = log.read(number).manifest
            if manifest.kind == EPOCH:
                _verify(storage, manifest, whole)
                return number
        except PenstockError:
            continue
    return None


def say_what_is_left(storage: CheckpointStorage) -> str:
    """A sentence for the message about a damaged file."""
    number = newest_restorable(storage)
    if number is None:
        return f"No epoch in {storage.location} can be restored from what is left."
    return (
        f"The newest epoch in {storage.location} that can still be restored is {number}: to go back to it, remove the "
        f"files of 'manifests' with greater numbers. Sinks that already show newer epochs will refuse."
    )


def _verify(storage: CheckpointStorage, manifest: Manifest, whole: set[str]) -> None:
    heads = set[str]() if manifest.index is None else set(read_all_heads(storage, manifest.index).values())
    if manifest.driver_head is not None:
        heads.add(manifest.driver_head)
    needed = live_files(storage, heads) | {path for path in (manifest.tokens,) if path is not None}
    for path in needed - whole:
        storage.read_verified(path)
        whole.add(path)
