"""The states of a pattern's automaton and the ways between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from penstock.patterns import Condition


class Action(Enum):
    """What becomes of the event on a way from one state to another."""

    TAKE = "take"
    """It joins the match."""
    IGNORE = "ignore"
    """It is passed over."""
    PROCEED = "proceed"
    """It is looked at by the next state."""


class StateKind(Enum):
    """What a state is in the automaton."""

    START = "start"
    NORMAL = "normal"
    PENDING = "pending"
    """Complete when the time limit is reached: the pattern ends with what must not come."""
    FINAL = "final"
    STOP = "stop"
    """Something came that must not: the partial match is given up."""


@dataclass(eq=False)
class Transition:
    """A way out of a state."""

    source: State
    action: Action
    target: State
    condition: Condition


@dataclass(eq=False)
class State:
    """One state. Partial matches in it wait for an event of its step."""

    name: str
    """Unique; part of what is saved of a partial match."""
    step: str
    """The name of the pattern that events taken here belong to."""
    kind: StateKind
    transitions: list[Transition] = field(default_factory=list[Transition])
    timeout: int | None = None
    """So many ms after the event before, partial matches in this state are over."""

    def add(self, action: Action, target: State, condition: Condition) -> None:
        """Adds a way out of the state."""
        self.transitions.append(Transition(self, action, target, condition))

    def __repr__(self) -> str:
        return f"<{self.kind.value} state {self.name}>"


@dataclass(frozen=True)
class StateGraph:
    """The automaton of a pattern."""

    states: tuple[State, ...]
    start: State
    within: int
    """So many ms after its first event, a partial match is over; 0: never."""
