"""Checks of what a program passes in. Every refusal names the user's line."""

from __future__ import annotations

import inspect

from penstock.common.call_site import CallSite, capture_call_site
from penstock.common.errors import ArgumentError, PlanError
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.functions import Function
from penstock.state.key_groups import MAX_PARALLELISM_LIMIT

_ONE_RESULT = ("map", "filter", "reduce")
_YIELD = "for any number of results use `flat_map` or `process`"


def describe(value: object) -> str:
    """A value as an error message shows it: short, with its class."""
    if value is None:
        return "None"
    text = repr(value)
    if len(text) > 80:
        text = text[:77] + "..."
    return f"{text} ({type(value).__name__})"


def refuse(message: str, call_site: CallSite | None = None) -> PlanError:
    """The error for a program that cannot be built, with the line that asked for it."""
    return PlanError(f"{message}\n  at {call_site or capture_call_site()}")


def refuse_argument(method: str, argument: str, value: object, expected: str) -> ArgumentError:
    """The error for an argument of the wrong kind."""
    return ArgumentError(
        f"{method}: `{argument}` is {describe(value)}; expected {expected}\n  at {capture_call_site()}"
    )


def check_function(method: str, function: object, function_class: type, what: str) -> None:
    """Accepts an instance of the class or anything that can be called."""
    if isinstance(function, type) and issubclass(function, function_class):
        raise refuse_argument(
            method, "func", function, f"an instance: write {function.__name__}(...), not {function.__name__}"
        )
    # Flink's function classes are not callable; an object of another one is in the wrong place.
    if not isinstance(function, function_class) and (isinstance(function, Function) or not callable(function)):
        raise refuse_argument(method, "func", function, what)
    if method in _ONE_RESULT:
        called = getattr(function, method) if isinstance(function, function_class) else function
        check_runs_when_called(method, called, f"takes the one result that is returned; {_YIELD}")


def check_runs_when_called(method: str, called: object, not_yielded: str) -> None:
    """Refuses what gives a generator or a coroutine for every record: no error in Python, and never meant.

    `not_yielded` says what the method does, which is not to take what is yielded.
    """
    name = getattr(called, "__qualname__", repr(called))
    if inspect.isgeneratorfunction(called):
        raise refuse(f"{method}: {name} has a `yield` in it, and {method} {not_yielded}")
    if inspect.iscoroutinefunction(called):
        raise refuse(
            f"{method}: {name} is declared as `async def`, and {method} does not wait for it; AsyncDataStream calls "
            "such functions (docs/how-to/call-a-service.md)"
        )


def check_instance(method: str, argument: str, value: object, classes: tuple[type, ...], expected: str) -> None:
    """Accepts an instance of one of the classes."""
    if isinstance(value, type) and issubclass(value, classes):
        raise refuse_argument(method, argument, value, f"an instance: write {value.__name__}(...)")
    if not isinstance(value, classes):
        raise refuse_argument(method, argument, value, expected)


def check_not_a_class(method: str, argument: str, value: object, classes: tuple[type, ...]) -> None:
    """Refuses a class where an instance of it was meant."""
    if isinstance(value, type) and issubclass(value, classes):
        raise refuse_argument(method, argument, value, f"an instance: write {value.__name__}(...)")


def check_text(method: str, argument: str, value: object) -> str:
    """Accepts text that is not empty."""
    if not isinstance(value, str) or not value:
        raise refuse_argument(method, argument, value, "text that is not empty")
    return value


def check_watermark_strategy(method: str, value: object) -> WatermarkStrategy:
    """Accepts a watermark strategy."""
    if not isinstance(value, WatermarkStrategy):
        raise refuse_argument(
            method,
            "watermark_strategy",
            value,
            "a WatermarkStrategy, such as WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))",
        )
    return value


def check_parallelism(method: str, value: object) -> int:
    """Accepts the number of subtasks of an operator."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_PARALLELISM_LIMIT:
        raise refuse_argument(
            method, "parallelism", value, f"the number of subtasks, from 1 to {MAX_PARALLELISM_LIMIT}"
        )
    return value


def check_max_parallelism(method: str, value: object) -> int:
    """Accepts the number of key groups of an operator."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_PARALLELISM_LIMIT:
        raise refuse_argument(
            method, "max_parallelism", value, f"the number of key groups, from 1 to {MAX_PARALLELISM_LIMIT}"
        )
    return value
