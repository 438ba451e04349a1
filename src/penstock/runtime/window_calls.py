"""What is called with the contents of a window that fires, for all kinds of window functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from penstock.common.errors import ArgumentError
from penstock.functions.adapt import reduce_callable
from penstock.functions.window import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.runtime.window_contexts import FunctionContext
from penstock.windows.definition import WindowDefinition

Inputs = list[Any]
WindowCall = Callable[[Inputs], Iterable[Any] | None]


def window_call(function: Any, context: FunctionContext, key: Callable[[], Any]) -> WindowCall:
    """Calls the window function; without one, the contents are the results."""
    match function:
        case None:
            return _same
        case WindowFunction():
            return lambda inputs: function.apply(key(), context.window(), inputs)
        case AllWindowFunction():
            return lambda inputs: function.apply(context.window(), inputs)
        case ProcessWindowFunction():
            return lambda inputs: function.process(key(), context, inputs)
        case ProcessAllWindowFunction():
            return lambda inputs: function.process(context, inputs)
        case _:
            raise ArgumentError(f"{function!r} is not a window function")


def clear_call(function: Any, context: FunctionContext) -> Callable[[], None] | None:
    """Tells the window function that a window goes away; None where it does not want to know."""
    if not isinstance(function, ProcessWindowFunction | ProcessAllWindowFunction):
        return None
    return lambda: function.clear(context)


def combining(definition: WindowDefinition) -> Callable[[Inputs], Inputs | None]:
    """Makes of all records of a window what the window function gets; None where nothing can be made of none."""
    if definition.reduce_function is not None:
        reduce_two = reduce_callable(definition.reduce_function)
        return lambda inputs: [reduce(reduce_two, inputs)] if inputs else None
    if definition.aggregate_function is None:
        return _same
    function = definition.aggregate_function

    def aggregated(inputs: Inputs) -> Inputs:
        accumulator = function.create_accumulator()
        for value in inputs:
            accumulator = function.add(value, accumulator)
        return [function.get_result(accumulator)]

    return aggregated


def _same(inputs: Inputs) -> Inputs:
    return inputs
