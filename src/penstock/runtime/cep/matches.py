"""Partial matches, and the events that they share.

A partial match holds its newest cell; a cell holds an event and the cell before it. Matches that have begun alike
share the cells of what they have in common: a new event costs each of them one cell, however long they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.patterns import MatchedEvents

if TYPE_CHECKING:
    from penstock.runtime.cep.nfa import Node

NO_ORDER = 1 << 62
"""The order of the partial match that has no event yet: behind all others."""
NEVER = 1 << 63
"""A time that is never reached."""


class Event:
    """An event of one key."""

    __slots__ = ("_place", "_source", "_value", "mask", "number", "timestamp")

    def __init__(
        self, value: Any, timestamp: int, mask: int = 0, number: int = -1, source: Any = None, place: int = 0
    ) -> None:
        self._value = value
        self._source = source
        """What gives the value when it is asked for, by `place`; None: the value is there."""
        self._place = place
        self.timestamp = timestamp
        self.mask = mask
        """One bit for each condition that was computed beforehand."""
        self.number = number
        """Its place among the events that the key has kept; -1: not kept."""

    @property
    def value(self) -> Any:
        """The event itself."""
        if self._source is not None:
            self._value = self._source[self._place]
            self._source = None
        return self._value


class Cell:
    """An event in a partial match."""

    __slots__ = ("event", "number", "previous", "previous_step", "step")

    def __init__(self, step: str, event: Event, previous: Cell | None) -> None:
        self.step = step
        self.event = event
        self.previous = previous
        self.previous_step = previous if previous is None or previous.step != step else previous.previous_step
        """The newest cell before it that is of another step: conditions that ask for one need not go through a loop."""
        self.number = -1
        """Under which number it is stored; -1: it is not."""


class PartialMatch:
    """A match in the making. Never changed: what becomes of it is another one."""

    __slots__ = ("cell", "node", "order", "previous_time", "start_time")

    def __init__(self, node: Node, cell: Cell | None, order: int, start_time: int, previous_time: int) -> None:
        self.node = node
        self.cell = cell
        self.order = order
        """The number of its first event."""
        self.start_time = start_time
        self.previous_time = previous_time


class KeyMatches:
    """What a key has of one pattern."""

    __slots__ = ("completed", "deadline", "is_changed", "next_event", "partials", "stored", "timer")

    def __init__(self, partials: list[PartialMatch], completed: list[PartialMatch] | None = None) -> None:
        self.partials = partials
        """A queue (`start_order`); the one without an event is always among them."""
        self.completed: list[PartialMatch] = completed or []
        """A queue of matches that must wait until earlier partial matches have come to an end."""
        self.deadline = NEVER
        """When the first of them is over, or before that; never after."""
        self.next_event = 0
        self.timer = NEVER
        """When the key is looked at, whatever comes."""
        self.is_changed = False
        self.stored: Any = None
        """What the store has of it; see `MatchStore`."""

    @property
    def is_empty(self) -> bool:
        """Whether it is as if the key had never had an event."""
        return len(self.partials) == 1 and not self.completed


def events_of(cell: Cell | None) -> MatchedEvents:
    """The events up to a cell, by step."""
    return MatchedEvents([(each.step, each.event.value) for each in cells_of(cell)])


def values_of_step(cell: Cell | None, step: str) -> list[Any]:
    """The events of one step up to a cell, in the order in which they came."""
    values: list[Any] = []
    while cell is not None:
        if cell.step == step:
            values.append(cell.event.value)
            cell = cell.previous
        else:
            cell = cell.previous_step
    values.reverse()
    return values


def cells_of(cell: Cell | None) -> list[Cell]:
    """The cells up to one, the first one first."""
    cells: list[Cell] = []
    while cell is not None:
        cells.append(cell)
        cell = cell.previous
    cells.reverse()
    return cells
