"""Functions that make one value of many."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from penstock.functions.function import Function


class ReduceFunction(Function):
    """Combines two values into one of the same type, again and again until one is left.

    >>> class Longest(ReduceFunction):
    ...     def reduce(self, value1, value2):
    ...         return max(value1, value2, key=len)
    >>> Longest().reduce("sea", "ocean")
    'ocean'
    """

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """Both values combined."""


class AggregateFunction(Function):
    """Adds values to an accumulator of its own type and makes a result of that.

    The function keeps nothing itself: each key and window has an accumulator.

    >>> class Average(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return 0, 0
    ...     def add(self, value, accumulator):
    ...         return accumulator[0] + value, accumulator[1] + 1
    ...     def get_result(self, accumulator):
    ...         return accumulator[0] / accumulator[1]
    ...     def merge(self, acc_a, acc_b):
    ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
    >>> average = Average()
    >>> average.get_result(average.add(4, average.add(2, average.create_accumulator())))
    3.0
    """

    @abstractmethod
    def create_accumulator(self) -> Any:
        """A new, empty accumulator."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with a value added; it may be the given one, changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """The result for what has been added."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Two accumulators as one; neither is used afterwards, so either may be changed and returned."""
