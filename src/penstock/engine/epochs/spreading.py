"""Work on state that is more than a driver should do: it is spread over tasks, one for each part of the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

SMALL_BYTES = 32 << 20
"""Less than so much in all is done by the driver itself, at once."""


class Spread(Protocol):
    """Calls a function with each of some parts, in tasks; both are pickled. Results are in the order of the parts."""

    def __call__(self, work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """Calls it."""
        ...


def in_this_process(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """`Spread` without tasks: one part after the other."""
    return [work(part) for part in parts]


def spread_for(size: int, spread: Spread) -> Spread:
    """How parts that are so large together are worked on."""
    return spread if size >= SMALL_BYTES else in_this_process
