"""A checkpoint that can be read but not changed: what is written goes to a directory of its own."""

from __future__ import annotations

from pathlib import Path

from penstock.state.storage import CheckpointStorage, LocalCheckpointStorage


class ReplayStorage(CheckpointStorage):
    """Reads from a checkpoint and from what was written since."""

    def __init__(self, checkpoint: CheckpointStorage, directory: str) -> None:
        self._checkpoint = checkpoint
        self._written = LocalCheckpointStorage(directory)

    @property
    def location(self) -> str:
        """The checkpoint's."""
        return self._checkpoint.location

    def write_staged(self, prefix: str, content: bytes) -> str:
        """Writes beside the checkpoint."""
        return self._written.write_staged(prefix, content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Writes beside the checkpoint, unless the file is there or in the checkpoint."""
        return not self._checkpoint.exists(path) and self._written.put_if_absent(path, content)

    def read(self, path: str) -> bytes:
        """The content of a file."""
        return self._place_of(path).read(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """A part of a file."""
        return self._place_of(path).read_range(path, offset, length)

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory of this name."""
        return self._written.exists(path) or self._checkpoint.exists(path)

    def list(self, directory: str) -> list[str]:
        """The paths of what is in a directory, sorted."""
        return sorted({*self._written.list(directory), *self._checkpoint.list(directory)})

    def delete(self, path: str) -> None:
        """Removes what was written since; the checkpoint stays as it is."""
        self._written.delete(path)

    def remove_unfinished(self) -> None:
        """Nothing to do: nobody else writes here."""

    def resolve(self, path: str) -> Path:
        """The file as other libraries open it."""
        return self._place_of(path).resolve(path)

    def _place_of(self, path: str) -> CheckpointStorage:
        in_checkpoint = not self._written.exists(path) and self._checkpoint.exists(path)
        return self._checkpoint if in_checkpoint else self._written
