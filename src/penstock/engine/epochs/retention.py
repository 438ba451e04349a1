"""Removes what no retained manifest needs: old manifests, state files, indexes, tokens and staged leftovers."""

from __future__ import annotations

from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.state.index import read_all_heads
from penstock.state.state_files import live_files
from penstock.state.storage import CheckpointStorage

_PER_EPOCH = ("state", "index", "tokens", "sinks")


def remove_unneeded(storage: CheckpointStorage, log: ManifestLog, retained: int) -> None:
    """Keeps the newest `retained` manifests, and always the newest epoch's, and all that they reach."""
    numbers = log.numbers()
    newest_epoch = log.newest_epoch()
    if len(numbers) <= retained or newest_epoch is None:
        return
    first_kept = min(numbers[-retained], newest_epoch.number)
    kept = [log.read(number).manifest for number in numbers if number >= first_kept]
    heads = {manifest.driver_head for manifest in kept if manifest.driver_head is not None}
    for manifest in kept:
        if manifest.index is not None:
            heads |= set(read_all_heads(storage, manifest.index).values())
    live = live_files(storage, heads) | {m.index for m in kept if m.index} | {m.tokens for m in kept if m.tokens}
    for number in numbers:
        if number < first_kept:
            log.remove(number)
    for kind in _PER_EPOCH:
        for incarnation in storage.list(kind):
            for path in storage.list(incarnation):
                # Epochs from the oldest retained one on may be under way: their files are not named yet.
                if path not in live and _epoch_of(path) < first_kept:
                    storage.delete(path)


def _epoch_of(path: str) -> int:
    return int(path.rsplit("/", 1)[-1].partition("-")[0])
