"""Functions that say where a record belongs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from penstock.functions.function import Function


class KeySelector(Function):
    """Takes the key out of a record. The same record must give the same key every time."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key of a record."""


class NullByteKeySelector(KeySelector):
    """Gives every record the same key, 0: keyed operators on streams without keys."""

    def get_key(self, value: Any) -> int:
        """Always 0."""
        return 0


class Partitioner(Function):
    """Chooses the subtask for a key, for `partition_custom`."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """A number from 0 to `num_partitions` - 1."""
