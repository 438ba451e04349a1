"""What is on the stack of a function that is run on terms."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.tracing.terms import Term
from penstock.tracing.trees import Tree


class Null:
    """Python's own mark on the stack."""


@dataclass(frozen=True)
class Known:
    """An object that is no value of a record: a function, a class, a module."""

    value: Any


@dataclass(frozen=True)
class Method:
    """A method that is about to be called."""

    owner: Term
    name: str


class Failure:
    """An exception that is about to be raised."""


NULL = Null()
FAILURE = Failure()
StackValue = Term | Null | Known | Method | Failure
Continuation = Callable[[StackValue], Tree]


class Frame:
    """One function that is being run; inlined functions have frames of their own."""

    def __init__(self, function: types.FunctionType, depth: int, returns: Continuation) -> None:
        code = function.__code__
        self.function = function
        self.depth = depth
        self.returns = returns
        self.instructions = list(dis.get_instructions(code))
        self.index_of = {each.offset: index for index, each in enumerate(self.instructions)}
        self.known: dict[tuple[Any, ...], Tree] = {}
        self.kept: list[tuple[Any, ...]] = []
