"""A disk that can be filled, and files that can be cut."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_MEGABYTES = 48
_LOCAL_STORE = "the local store"
_KINDS = {
    "a manifest": ("checkpoint/manifests", "*.json"),
    "a state file": ("checkpoint/state", "*"),
    "an index": ("checkpoint/index", "*"),
    "the list of what is published": ("checkpoint/tokens", "*"),
    "staged output": ("checkpoint/sinks", "*"),
    "staged output of the file sink": ("sums/.penstock/staged", "*"),
    _LOCAL_STORE: ("local", "*.mdb"),
}


class SmallDisk:
    """A directory for a job; where the system lets us mount one, on a file system of its own."""

    def __init__(self, place: Path, *, can_be_full: bool) -> None:
        self.place = place
        self.can_be_full = can_be_full
        self._filler = place / "filler"

    def fill(self) -> None:
        """Takes all space that is left."""
        for step in (1 << 20, 1 << 12, 1):
            with self._filler.open("ab", buffering=0) as file, suppress(OSError):
                while file.write(b"x" * step) == step:
                    pass

    def free(self) -> None:
        """Gives it back."""
        self._filler.unlink(missing_ok=True)


@contextmanager
def small_disk(place: Path) -> Generator[SmallDisk]:
    """A small file system, for as long as it is needed."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_MEGABYTES}m", "tmpfs", str(place)]
    try:
        can_be_full = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        can_be_full = False
    try:
        yield SmallDisk(place, can_be_full=can_be_full)
    finally:
        if can_be_full:
            subprocess.run(["umount", "--lazy", str(place)], check=True)  # noqa: S607  as mount


class CutFile:
    """A file of the job that has lost its end."""

    def __init__(self, kind: str, path: Path, rng: random.Random) -> None:
        self.kind = kind
        self.path = path
        self._content = path.read_bytes()
        self._left = rng.randrange(len(self._content))
        path.write_bytes(self._content[: self._left])

    @classmethod
    def choose(cls, directory: Path, rng: random.Random) -> CutFile | None:
        """One of the newest files of some kind that there is."""
        for kind in rng.sample(sorted(_KINDS), len(_KINDS)):
            below, pattern = _KINDS[kind]
            files = [path for path in (directory / below).rglob(pattern) if path.is_file() and path.stat().st_size]
            newest = sorted(files, key=lambda path: path.stat().st_mtime_ns)[-4:]
            if newest:
                return cls(kind, rng.choice(newest), rng)
        return None

    def restore(self) -> None:
        """Puts the copy back, where the job has neither removed nor rewritten the file."""
        if self.kind != _LOCAL_STORE and self.path.exists() and self.path.stat().st_size == self._left:
            self.path.write_bytes(self._content)
