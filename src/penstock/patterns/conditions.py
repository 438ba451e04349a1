"""Conditions on events: what a program gives (functions, objects, expressions), and how they are combined."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

from penstock.expressions import Expression
from penstock.functions.function import Function
from penstock.functions.single_record import FilterFunction

IN = TypeVar("IN")


class ConditionContext(ABC):
    """What an iterative condition can ask about the partial match that an event may join."""

    @abstractmethod
    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        """The events that the partial match has for a pattern so far, in their order."""

    @abstractmethod
    def timestamp(self) -> int:
        """The time of the event: its timestamp, or the processing time where the pattern works on that."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The processing time."""


class SimpleCondition(Function, Generic[IN]):
    """Decides by the event alone.

    >>> class Large(SimpleCondition):
    ...     def filter(self, value):
    ...         return value["amount"] > 500
    """

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Whether the event is one that the pattern wants."""


class IterativeCondition(Function, Generic[IN]):
    """Decides by the event and by those that the partial match has already.

    >>> class Larger(IterativeCondition):
    ...     def filter(self, value, ctx):
    ...         return all(value > before for before in ctx.get_events_for_pattern("rise"))
    """

    Context = ConditionContext

    @abstractmethod
    def filter(self, value: IN, ctx: ConditionContext) -> bool:
        """Whether the event is one that the pattern wants, given what it has."""


class Condition(ABC):
    """A condition as patterns hold it."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The condition as messages and drawings show it."""

    @property
    def parts(self) -> tuple[Condition, ...]:
        """The conditions that this one is made of."""
        return ()

    @property
    def function(self) -> Any:
        """The program's own object that is opened and closed with the operator, if there is one."""
        return None

    def leaves(self) -> Iterator[Condition]:
        """The conditions without parts."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def __repr__(self) -> str:
        return f"<condition {self.text}>"


class Always(Condition):
    """Every event."""

    @property
    def text(self) -> str:  # noqa: D102
        return "true"


class _OfFunction(Condition):
    """What a function of the user's says; `call` calls it."""

    def __init__(self, call: Callable[..., Any], function: Any) -> None:
        self.call = call
        self._function = function

    @property
    def text(self) -> str:
        return _name(self._function)

    @property
    def function(self) -> Any:
        return self._function


class OfEvent(_OfFunction):
    """A function of the event."""


class OfMatch(_OfFunction):
    """A function of the event and the context."""


class OfType(Condition):
    """Events of a class."""

    def __init__(self, subtype: type[Any]) -> None:
        self.subtype = subtype

    @property
    def text(self) -> str:  # noqa: D102
        return f"is {self.subtype.__name__}"


class OfColumns(Condition):
    """An expression, which is computed for many events at once."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    @property
    def text(self) -> str:  # noqa: D102
        return self.expression.text


class _Junction(Condition):
    """Two conditions as one."""

    word: ClassVar[str]

    def __init__(self, left: Condition, right: Condition) -> None:
        self._parts = left, right

    @property
    def parts(self) -> tuple[Condition, ...]:
        return self._parts

    @property
    def text(self) -> str:
        return f" {self.word} ".join(_operand(part) for part in self._parts)


class Both(_Junction):
    """Two conditions at once."""

    word = "and"


class Either(_Junction):
    """One of two conditions, or both."""

    word = "or"


class Negation(Condition):
    """The contrary."""

    def __init__(self, condition: Condition) -> None:
        self._parts = (condition,)

    @property
    def parts(self) -> tuple[Condition, ...]:  # noqa: D102
        return self._parts

    @property
    def text(self) -> str:  # noqa: D102
        return f"not {_operand(self._parts[0])}"


ALWAYS = Always()

ConditionLike = Callable[..., Any] | SimpleCondition[Any] | IterativeCondition[Any] | FilterFunction | Expression
"""What stands for a condition: a function of the event, or of event and context, an object, an expression."""


def condition_of(given: Any) -> Condition | None:
    """The condition that an argument stands for; None where it is none."""
    match given:
        case Condition():
            return given
        case Expression():
            return OfColumns(given)
        case IterativeCondition():
            return OfMatch(given.filter, given)
        case SimpleCondition() | FilterFunction():
            return OfEvent(given.filter, given)
        case _ if isinstance(given, type | Function) or not callable(given):
            return None
        case _:
            return _condition_of_function(given)


def both(left: Condition | None, right: Condition) -> Condition:
    """Both conditions; what is always true is left out."""
    if left is None or isinstance(left, Always):
        return right
    return left if isinstance(right, Always) else Both(left, right)


def _condition_of_function(function: Callable[..., Any]) -> Condition | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return OfEvent(function, function)  # a function of C that says nothing of its parameters
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(each.kind in kinds and each.default is inspect.Parameter.empty for each in parameters)
    if count == 2:
        return OfMatch(function, function)
    if count == 1 or any(each.kind in (*kinds, inspect.Parameter.VAR_POSITIONAL) for each in parameters):
        return OfEvent(function, function) if count <= 1 else None
    return None


def _name(function: Any) -> str:
    name = getattr(function, "__name__", None) or type(function).__name__
    code = getattr(function, "__code__", None)
    return f"lambda in line {code.co_firstlineno}" if name == "<lambda>" and code is not None else name


def _operand(condition: Condition) -> str:
    return f"({condition.text})" if isinstance(condition, Both | Either) else condition.text
