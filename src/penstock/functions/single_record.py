"""Functions of one record."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.function import Function


class MapFunction(Function):
    """Makes exactly one result of each record.

    >>> class Double(MapFunction):
    ...     def map(self, value):
    ...         return 2 * value
    >>> Double().map(21)
    42
    """

    @abstractmethod
    def map(self, value: Any) -> Any:
        """The result for a record."""


class FlatMapFunction(Function):
    """Makes any number of results of each record.

    >>> class Words(FlatMapFunction):
    ...     def flat_map(self, value):
    ...         yield from value.split()
    >>> list(Words().flat_map("to be"))
    ['to', 'be']
    """

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """Yields the results for a record, or returns them as any iterable; None means none."""


class FilterFunction(Function):
    """Decides which records go on. It must not change them.

    >>> class Positive(FilterFunction):
    ...     def filter(self, value):
    ...         return value > 0
    >>> Positive().filter(-1)
    False
    """

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """True for a record that goes on."""
