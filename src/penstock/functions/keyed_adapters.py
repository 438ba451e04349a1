"""Simpler functions as keyed process functions: what `map`, `reduce` and their like are on a keyed stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.functions.adapt import (
    close_function,
    filter_callable,
    flat_map_callable,
    map_callable,
    open_function,
)
from penstock.functions.checkpointed import checkpointed_part
from penstock.functions.function import Function, RuntimeContext
from penstock.functions.process import KeyedProcessFunction


class KeyedFunctionAdapter(KeyedProcessFunction):
    """A keyed process function around another function."""

    def __init__(self, wrapped: Any, call: Callable[..., Any]) -> None:
        self._wrapped = wrapped
        self._call = call

    @property
    def wrapped_function(self) -> Any:
        """The function inside."""
        return self._wrapped

    @property
    def can_use_state(self) -> bool:
        """Whether the function inside can ask for state of the key: it does so when it is opened, or initialized."""
        opens = getattr(self._wrapped, "open", None)
        is_opened = opens is not None and getattr(opens, "__func__", None) is not Function.open
        return is_opened or checkpointed_part(self._wrapped) is not None

    def open(self, runtime_context: RuntimeContext) -> None:
        """Opens the function inside."""
        open_function(self._wrapped, runtime_context)

    def close(self) -> None:
        """Closes the function inside."""
        close_function(self._wrapped)


class KeyedMapAdapter(KeyedFunctionAdapter):
    """`KeyedStream.map`."""

    def __init__(self, func: Any) -> None:
        super().__init__(func, map_callable(func))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        """One result per record."""
        return (self._call(value),)


class KeyedFlatMapAdapter(KeyedFunctionAdapter):
    """`KeyedStream.flat_map`."""

    def __init__(self, func: Any) -> None:
        super().__init__(func, flat_map_callable(func))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """What the function gives."""
        return self._call(value)


class KeyedFilterAdapter(KeyedFunctionAdapter):
    """`KeyedStream.filter`."""

    def __init__(self, func: Any) -> None:
        super().__init__(func, filter_callable(func))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        """The record or nothing."""
        return (value,) if self._call(value) else ()
