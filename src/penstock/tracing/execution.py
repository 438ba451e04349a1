"""Runs the bytecode of a function on terms instead of values: what it returns, by which conditions.

Bytecode, not source: it is there for every function (in notebooks, of `exec`, for the third lambda of a line), and it
is what Python runs. An instruction that is not known here is a reason not to trace, so that a Python with other
instructions costs speed only.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.tracing.operations import Operations, is_constant_value
from penstock.tracing.refusal import NotTraceable
from penstock.tracing.stack import NULL, Continuation, Failure, Frame, Known, Method, Null, StackValue
from penstock.tracing.steps import Steps
from penstock.tracing.terms import Constant, Term
from penstock.tracing.trees import Branch, Leaf, Tree

_MOST_STEPS = 4_000
_DEEPEST_CALL = 8
_DEEPEST_NESTING = 200


@dataclass
class Captures:
    """What a function takes from outside. What was read once must still be so when a batch is computed."""

    readings: list[tuple[Callable[[], Any], Any]] = field(default_factory=list["tuple[Callable[[], Any], Any]"])
    decide: bool = False
    """Whether they decide which way the function goes, or what it looks at: others could lead where it was not run."""
    given: list[Term] = field(default_factory=list[Term])
    """What functions among them, and exceptions, are called with: they could look at all of it."""

    def take(self, read: Callable[[], Any]) -> Any:
        """Reads a value, and remembers how."""
        value = read()
        self.readings.append((read, value))
        return value

    def still_hold(self) -> bool:
        """Whether nothing has been given another value."""
        return all(read() is value for read, value in self.readings)

    @property
    def may_change_it(self) -> bool:
        """Whether another value of any of them could make another function of it."""
        return bool(self.readings or self.decide or self.given)

    @property
    def have_functions(self) -> bool:
        """Whether there are functions among them, but for those of Python itself, which nobody replaces."""
        return bool(self.given) or any(callable(value) and not isinstance(value, type) for _, value in self.readings)


class Execution:
    """The run of one function."""

    def __init__(self, operations: Operations, captures: Captures) -> None:
        self._operations = operations
        self._captures = captures
        self._steps = 0
        self._nesting = 0
        self._place = ""
        self._leaves: dict[int, Leaf] = {}

    def run(self, function: types.FunctionType, arguments: Sequence[StackValue]) -> Tree:
        """What the function returns; raises `NotTraceable` with the line that prevents it."""
        self._place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        try:
            return self._enter(function, arguments, {}, 0, self._returned)
        except NotTraceable as refusal:
            raise refusal if refusal.place else NotTraceable(refusal.reason, self._place) from None

    def _returned(self, value: StackValue) -> Tree:
        if isinstance(value, Known | Method | Null | Failure):
            raise NotTraceable("it returns something that is no value of the record")
        return self._leaves.setdefault(id(value), Leaf(value))

    def _enter(
        self,
        function: types.FunctionType,
        arguments: Sequence[StackValue],
        keywords: dict[str, Term],
        depth: int,
        returns: Continuation,
    ) -> Tree:
        code = function.__code__
        name = function.__qualname__
        if depth > _DEEPEST_CALL:
            raise NotTraceable(f"{name} calls functions more than {_DEEPEST_CALL} deep")
        if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            raise NotTraceable(f"{name} is a generator or a coroutine")
        if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            raise NotTraceable(f"{name} takes any number of arguments")
        if code.co_exceptiontable:
            raise NotTraceable(f"{name} has a try or a with in it")
        variables = self._bound(function, arguments, keywords)
        return self._run(Frame(function, depth, returns), 0, [], variables)

    def _bound(
        self, function: types.FunctionType, arguments: Sequence[StackValue], keywords: dict[str, Term]
    ) -> dict[str, StackValue]:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        bound: dict[str, StackValue] = {}
        defaults = function.__defaults__ or ()
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            bound[name] = self._outer(default, name)
        for name, default in (function.__kwdefaults__ or {}).items():
            bound[name] = self._outer(default, name)
        bound.update(zip(names, arguments, strict=False))
        bound.update(keywords)
        expected = {*names, *code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]}
        positional_only = set(names[: code.co_posonlyargcount]) & set(keywords)
        doubly = set(names[: len(arguments)]) & set(keywords)
        if len(arguments) > len(names) or set(bound) != expected or positional_only or doubly:
            raise NotTraceable(f"{function.__qualname__} is called with other arguments than it takes")
        return bound

    def _outer(self, value: Any, name: str) -> StackValue:
        """What the function finds outside itself, and calls by a name."""
        return self._operations.constant(value, name) if is_constant_value(value) else Known(value)

    def _run(self, frame: Frame, index: int, stack: list[StackValue], variables: dict[str, StackValue]) -> Tree:
        key = (index, tuple(map(id, stack)), tuple((name, id(value)) for name, value in variables.items()))
        known = frame.known.get(key)
        if known is not None:
            return known
        self._nesting += 1
        if self._nesting > _DEEPEST_NESTING:
            raise NotTraceable("it has too many branches")
        frame.known[key] = tree = Steps(self, frame, list(stack), dict(variables)).run(index)
        # The values stay alive as long as their ids are keys.
        frame.kept.append((tuple(stack), tuple(variables.values())))
        self._nesting -= 1
        return tree

    # --- what steps ask for

    @property
    def operations(self) -> Operations:
        """Makes terms."""
        return self._operations

    def step(self, frame: Frame, instruction: dis.Instruction) -> None:
        """Takes note of where the run is."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise NotTraceable("it is too long")
        positions = instruction.positions
        line = positions.lineno if positions is not None else None
        if frame.depth == 0 and line is not None:
            self._place = f"{frame.function.__code__.co_filename}:{line}"

    def global_value(self, frame: Frame, name: str) -> StackValue:
        """A global or a builtin, as it is now."""
        scope = frame.function.__globals__
        value = self._captures.take(lambda: scope.get(name, NULL))
        if value is NULL:
            value = frame.function.__builtins__.get(name, NULL)
        if value is NULL:
            raise NotTraceable(f"the name '{name}' is not defined")
        return self._outer(value, name)

    def cell_value(self, frame: Frame, name: str) -> StackValue:
        """A variable of the function around it, as it is now."""
        function = frame.function
        names = function.__code__.co_freevars
        if name not in names or function.__closure__ is None:
            raise NotTraceable(f"the variable '{name}' is shared with a function inside it")
        cell = function.__closure__[names.index(name)]
        try:
            return self._outer(self._captures.take(lambda: cell.cell_contents), name)
        except ValueError:
            raise NotTraceable(f"the variable '{name}' has no value yet") from None

    def attribute_value(self, owner: Any, name: str) -> StackValue:
        """An attribute of an object that the function knows, as it is now: what the object or its class holds."""
        cls = type(owner)
        found = inspect.getattr_static(cls, name, NULL)
        is_method = isinstance(found, types.FunctionType) and name not in vars(owner)
        if cls.__getattribute__ is not object.__getattribute__ or not (is_method or not hasattr(found, "__get__")):
            raise NotTraceable(
                f"the attribute '{name}' of an object of the class {cls.__qualname__} is more than a value"
            )
        if is_method:
            # A bound method is another object each time; what it is of and what it runs are not.
            self._captures.take(lambda: inspect.getattr_static(owner, name, NULL))
            return Known(types.MethodType(found, owner))
        value = self._captures.take(lambda: inspect.getattr_static(owner, name, NULL))
        if value is NULL:
            raise NotTraceable(f"an object of the class {cls.__qualname__} has no attribute '{name}'")
        return self._outer(value, f"self.{name}")

    def branch(
        self,
        condition: Term,
        when_true: Callable[[], Tree],
        when_false: Callable[[], Tree],
    ) -> Tree:
        """Goes both ways, or one where the condition is known."""
        if isinstance(condition, Constant):
            self.depend_on(condition)
            return when_true() if condition.value else when_false()
        first, second = when_true(), when_false()
        return first if first is second else Branch(condition, first, second)

    def depend_on(self, term: Term) -> None:
        """Takes note that a value decides how the function goes on."""
        if isinstance(term, Constant) and term.is_captured:
            self.lose_track()

    def lose_track(self) -> None:
        """Takes note that the function may look at more than is seen here."""
        self._captures.decide = True

    def hand_over(self, values: Sequence[Term]) -> None:
        """Takes note that something else than what is seen here gets these values."""
        self._captures.given += values

    def jump(self, frame: Frame, offset: int, stack: list[StackValue], variables: dict[str, StackValue]) -> Tree:
        """Goes on at another instruction."""
        return self._run(frame, frame.index_of[offset], stack, variables)

    def go_on(self, frame: Frame, index: int, stack: list[StackValue], variables: dict[str, StackValue]) -> Tree:
        """Goes on at an instruction by number."""
        return self._run(frame, index, stack, variables)

    def inline(
        self,
        frame: Frame,
        function: types.FunctionType,
        arguments: Sequence[StackValue],
        keywords: dict[str, Term],
        returns: Continuation,
    ) -> Tree:
        """Runs a function that the traced one calls."""
        self.hand_over([each for each in (*arguments, *keywords.values()) if isinstance(each, Term)])
        return self._enter(function, arguments, keywords, frame.depth + 1, returns)
