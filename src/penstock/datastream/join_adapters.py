"""Join functions as window functions: what is called with the records of both streams in a window."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.functions import CoGroupFunction, JoinKind, RuntimeContext, TaggedUnion, WindowFunction
from penstock.functions.adapt import close_function, join_callable, open_function
from penstock.functions.tagged_union import parted

CoGroup = Callable[[list[Any], list[Any]], Iterable[Any] | None]


class CoGroupWindowFunction(WindowFunction[TaggedUnion, Any, Any, Any]):
    """Calls a function with the records of each stream."""

    def __init__(self, function: Any, co_group: CoGroup) -> None:
        self._function = function
        self._co_group = co_group

    @property
    def wrapped_function(self) -> Any:
        """The function inside."""
        return self._function

    def open(self, runtime_context: RuntimeContext) -> None:
        """Opens the function inside."""
        open_function(self._function, runtime_context)

    def close(self) -> None:
        """Closes the function inside."""
        close_function(self._function)

    def apply(self, key: Any, window: Any, inputs: Iterable[TaggedUnion]) -> Iterable[Any] | None:
        """What the function gives."""
        return self._co_group(*parted(inputs))


class Pairs:
    """Calls a join function with each pair, and as an outer join with records that have no partner."""

    def __init__(self, function: Any, kind: JoinKind) -> None:
        self._join = join_callable(function)
        self._kind = kind

    def __call__(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        """The results of all pairs, the first stream's records outside."""
        if not second and self._kind.keeps_left:
            second = [None]
        elif not first and self._kind.keeps_right:
            first = [None]
        for one in first:
            for two in second:
                yield from self._join(one, two) or ()


def co_group_function(function: CoGroupFunction[Any, Any, Any] | CoGroup) -> CoGroupWindowFunction:
    """A `CoGroupFunction`, or a plain function of two lists, as a window function."""
    call = function.co_group if isinstance(function, CoGroupFunction) else function
    return CoGroupWindowFunction(function, call)


def join_function(function: Any, kind: JoinKind) -> CoGroupWindowFunction:
    """A join function as a window function."""
    return CoGroupWindowFunction(function, Pairs(function, kind))
