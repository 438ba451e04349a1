"""Finds what to call in all that may stand for a function: objects, plain functions, lambdas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.common.errors import ArgumentError
from penstock.functions.aggregation import ReduceFunction
from penstock.functions.co_process import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.functions.function import Function, RuntimeContext
from penstock.functions.join import FlatJoinFunction, JoinFunction, ProcessJoinFunction
from penstock.functions.partitioning import KeySelector, Partitioner
from penstock.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.functions.single_record import FilterFunction, FlatMapFunction, MapFunction


def map_callable(function: Any) -> Callable[[Any], Any]:
    """What to call for one result per record."""
    return _callable(function, MapFunction, "map")


def flat_map_callable(function: Any) -> Callable[[Any], Iterable[Any] | None]:
    """What to call for any number of results per record."""
    return _callable(function, FlatMapFunction, "flat_map")


def filter_callable(function: Any) -> Callable[[Any], bool]:
    """What to ask whether a record goes on."""
    return _callable(function, FilterFunction, "filter")


def process_callable(function: Any) -> Callable[[Any, Any], Iterable[Any] | None]:
    """What to call with a record and a context."""
    if isinstance(function, KeyedProcessFunction):
        return function.process_element
    return _callable(function, ProcessFunction, "process_element")


def reduce_callable(function: Any) -> Callable[[Any, Any], Any]:
    """What to call to make one value of two."""
    return _callable(function, ReduceFunction, "reduce")


def key_callable(function: Any) -> Callable[[Any], Any]:
    """What to call for the key of a record."""
    return _callable(function, KeySelector, "get_key")


def partition_callable(function: Any) -> Callable[[Any, int], int]:
    """What to call for the subtask of a key."""
    return _callable(function, Partitioner, "partition")


def timer_callable(function: Any) -> Callable[[int, Any], Iterable[Any] | None] | None:
    """What to call when a timer fires; None for plain functions."""
    return getattr(function, "on_timer", None)


def co_process_callables(
    function: Any,
) -> tuple[Callable[[Any, Any], Iterable[Any] | None], Callable[[Any, Any], Iterable[Any] | None]]:
    """What to call with a record and a context, for the first and the second of two streams."""
    if isinstance(function, CoProcessFunction | KeyedCoProcessFunction):
        return function.process_element1, function.process_element2
    if isinstance(function, CoMapFunction):
        return _result_if_any(function.map1), _result_if_any(function.map2)
    if isinstance(function, CoFlatMapFunction):
        return _without_context(function.flat_map1), _without_context(function.flat_map2)
    raise ArgumentError(
        f"{function!r} is not a function of two streams; expected a CoProcessFunction, "
        "KeyedCoProcessFunction, CoMapFunction or CoFlatMapFunction"
    )


def join_callable(function: Any) -> Callable[[Any, Any], Iterable[Any] | None]:
    """What to call with a pair of records; plain functions make one result."""
    if isinstance(function, FlatJoinFunction):
        return function.join
    join = _callable(function, JoinFunction, "join")
    return lambda first, second: (join(first, second),)


def process_join_callable(function: Any) -> Callable[[Any, Any, Any], Iterable[Any] | None]:
    """What to call with a pair of records and a context."""
    return _callable(function, ProcessJoinFunction, "process_element")


def open_function(function: Any, runtime_context: RuntimeContext) -> None:
    """Opens a function object; plain functions have nothing to open."""
    if isinstance(function, Function) or hasattr(function, "open"):
        function.open(runtime_context)


def close_function(function: Any) -> None:
    """Closes a function object; plain functions have nothing to close."""
    if isinstance(function, Function) or hasattr(function, "close"):
        function.close()


def _callable(function: Any, function_class: type[Function], method: str) -> Callable[..., Any]:
    if isinstance(function, function_class):
        return getattr(function, method)
    if isinstance(function, type) and issubclass(function, Function):
        raise ArgumentError(f"{function.__name__} is a class; expected an instance: {function.__name__}(...)")
    if callable(function) and not isinstance(function, Function):
        return function
    raise ArgumentError(f"{function!r} is not a function; expected a {function_class.__name__} or a plain function")


def _result_if_any(map_function: Callable[[Any], Any]) -> Callable[[Any, Any], Iterable[Any] | None]:
    def process_element(value: Any, _ctx: Any) -> Iterable[Any] | None:
        result = map_function(value)
        return None if result is None else (result,)

    return process_element


def _without_context(
    flat_map: Callable[[Any], Iterable[Any] | None],
) -> Callable[[Any, Any], Iterable[Any] | None]:
    def process_element(value: Any, _ctx: Any) -> Iterable[Any] | None:
        return flat_map(value)

    return process_element
