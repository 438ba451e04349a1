"""Removes what no retained manifest needs: old manifests, state files, indexes, tokens and staged leftovers."""

from __future__ import annotations

import shutil

from penstock.engine.epochs.manifest import EPOCH, Manifest
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.state.background_snapshots import LONGEST_WAIT, begun_in
from penstock.state.index import read_all_heads
from penstock.state.state_file_format import read_header
from penstock.state.state_files import live_files
from penstock.state.storage import CheckpointStorage

_PER_EPOCH = ("state", "index", "tokens", "sinks")
_PROGRAMS = "programs"
_ALL = (
    "manifests",
    *_PER_EPOCH,
    _PROGRAMS,
    "published",
    "drivers",
    "runs",
    "failures",
    "dataframes",
    "cached-files",
    "plans",
    "live",
)
"""The manifests go first: without them there is no checkpoint."""


def remove_unneeded(storage: CheckpointStorage, log: ManifestLog, retained: int) -> None:
    """Keeps the manifests of the newest `retained` epochs, those after them, and all that they reach."""
    numbers = log.numbers()
    kept = _newest(log, numbers, retained)
    if not any(manifest.kind == EPOCH for manifest in kept):
        return
    first_kept = kept[-1].number
    heads = {manifest.driver_head for manifest in kept if manifest.driver_head is not None}
    for manifest in kept:
        if manifest.index is not None:
            heads |= set(read_all_heads(storage, manifest.index).values())
    pending = _PendingSnapshots(storage, kept[0], first_kept)
    live = live_files(storage, heads) | {m.index for m in kept if m.index} | {m.tokens for m in kept if m.tokens}
    for number in numbers:
        if number < first_kept:
            log.remove(number)
    for kind in _PER_EPOCH:
        for incarnation in storage.list(kind):
            for path in storage.list(incarnation):
                # Epochs from the oldest retained one on may be under way: their files are not named yet.
                if path not in live and 0 <= _epoch_of(path) < first_kept and path not in pending:
                    storage.delete(path)


def remove_other_programs(storage: CheckpointStorage, program: str) -> None:
    """Every start of a job ships its program; once a driver has taken over, that of those before it is of no use."""
    for path in storage.list(_PROGRAMS):
        if path != program:
            storage.delete(path)


def remove_checkpoint(storage: CheckpointStorage) -> None:
    """Removes everything that jobs keep in the directory, and nothing else that is there."""
    for directory in _ALL:
        shutil.rmtree(storage.resolve(directory), ignore_errors=True)


def _newest(log: ManifestLog, numbers: list[int], retained: int) -> list[Manifest]:
    """The newest manifests, newest first, down to the last epoch that is kept; all of them where there are fewer."""
    kept: list[Manifest] = []
    epochs = 0
    for number in reversed(numbers):
        kept.append(log.read(number).manifest)
        epochs += kept[-1].kind == EPOCH
        if epochs == retained:
            break
    return kept


class _PendingSnapshots:
    """Snapshots that are still being made, or wait for the next delta: see `BackgroundSnapshots`."""

    def __init__(self, storage: CheckpointStorage, newest: Manifest, first_kept: int) -> None:
        self._directory = f"state/{newest.incarnation}/"
        self._oldest = first_kept - 2 * LONGEST_WAIT
        heads = {} if newest.index is None else read_all_heads(storage, newest.index)
        paths = [*heads.values()] + ([] if newest.driver_head is None else [newest.driver_head])
        bases = {_subtask_of(path): read_header(storage, path).base for path in paths}
        self._bases = {subtask: begun_in(base) for subtask, base in bases.items() if base is not None}

    def __contains__(self, path: str) -> bool:
        # A base is only ever replaced by a snapshot that was begun later.
        begun = begun_in(path)
        is_newer = begun > self._bases.get(_subtask_of(path), -1)
        return is_newer and begun >= self._oldest and path.startswith(self._directory)


def _subtask_of(path: str) -> str:
    """The stage and subtask in the name of a state file: `1-0`."""
    return "-".join(path.rpartition("/")[2].split("-")[1:3])


def _epoch_of(path: str) -> int:
    """The epoch that wrote a file; -1 for a file of others."""
    number = path.rsplit("/", 1)[-1].partition("-")[0]
    return int(number) if number.isdecimal() else -1
