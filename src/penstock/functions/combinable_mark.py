"""The mark of functions that may reduce parts of the records first."""

from __future__ import annotations

from types import FunctionType
from typing import Any, TypeVar

from penstock.common.errors import ArgumentError
from penstock.functions.adapt import reduce_callable
from penstock.functions.aggregation import ReduceFunction
from penstock.functions.function import Function

F = TypeVar("F")
_MARK = "is_combinable"


def combinable(function: F) -> F:
    """Says that a `reduce` gives the same however its records are grouped, and in whichever order they come.

    Records of a key are then reduced where they are read, and what is left of them crosses the exchange: in windows,
    and in batch execution everywhere. It stands before a function or a `ReduceFunction` class. A function that adds
    up, or keeps the least or greatest, is such a one; one that subtracts, or keeps the last, is not.

    >>> @combinable
    ... def longer(first, second):
    ...     return max(first, second, key=lambda text: (len(text), text))
    >>> longer("sea", "ocean")
    'ocean'
    """
    marked: object = function
    if isinstance(marked, type) and issubclass(marked, ReduceFunction):
        # Of the method, so that a subclass with another one is not taken for its parent.
        marked = vars(marked).get("reduce")
    if not isinstance(marked, FunctionType):
        raise ArgumentError(
            f"@combinable stands before a function, or before a ReduceFunction class that has a method `reduce`; "
            f"given: {function!r}"
        )
    setattr(marked, _MARK, True)
    return function


def is_combinable(function: Any) -> bool:
    """Whether a reduce function has the mark, and can be called wherever records are: it has nothing to open."""
    opens = type(function).open is not Function.open if isinstance(function, Function) else hasattr(function, "open")
    return not opens and getattr(reduce_callable(function), _MARK, False) is True
