"""What moved when a job went on with another parallelism, as its checkpoint tells."""

from __future__ import annotations

from pathlib import Path

from penstock.engine.epochs.manifest import TAKEOVER, manifest_from_bytes

_OF_THE_DRIVER = "0"
"""The stage in the names of the driver's own state files."""


def moved_bytes(checkpoint: Path) -> int:
    """The size of the state files that the newest take-over of a job wrote: those of subtasks, laid out anew."""
    manifests = [manifest_from_bytes(path.read_bytes(), path.name) for path in (checkpoint / "manifests").iterdir()]
    newest = max((each for each in manifests if each.kind == TAKEOVER), key=lambda each: each.number)
    written = (checkpoint / "state" / str(newest.incarnation)).glob(f"{newest.number}-*")
    return sum(path.stat().st_size for path in written if path.name.split("-")[1] != _OF_THE_DRIVER)
