"""Functions that say where a record belongs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from penstock.functions.function import Function


class KeySelector(Function):
    """Takes the key out of a record. The same record must give the same key every time.

    >>> class FirstLetter(KeySelector):
    ...     def get_key(self, value):
    ...         return value[0]
    >>> words = env.from_collection(["ant", "bee", "asp"]).key_by(FirstLetter())
    >>> list(words.reduce(lambda a, b: f"{a} {b}").execute_and_collect())
    ['ant', 'bee', 'ant asp']
    """

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key of a record."""


class NullByteKeySelector(KeySelector):
    """Gives every record the same key, 0: keyed operators on streams without keys."""

    def get_key(self, value: Any) -> int:
        """Always 0."""
        return 0


class Partitioner(Function):
    """Chooses the subtask for a key, for `partition_custom`.

    >>> class Modulo(Partitioner):
    ...     def partition(self, key, num_partitions):
    ...         return key % num_partitions
    >>> numbers = env.from_sequence(1, 3).partition_custom(Modulo(), lambda n: n).map(str).set_parallelism(2)
    >>> sorted(numbers.execute_and_collect())
    ['1', '2', '3']
    """

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """A number from 0 to `num_partitions` - 1."""
