"""Functions that wait for other systems: many calls are under way at the same time."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

from penstock.functions.function import Function

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncFunction(Function, Generic[IN, OUT]):
    """Asks another system about each record, without making the next record wait.

    All calls of a subtask run on one event loop, in a thread of its own: what blocks in one of them stops them
    all. `open` and `close` run outside the loop; a client that belongs to a loop is best made by the first call.
    A call must not use keyed state.

    >>> class Doubled(AsyncFunction[int, int]):
    ...     async def async_invoke(self, value):
    ...         return [2 * value]
    >>> import asyncio
    >>> asyncio.run(Doubled().async_invoke(21))
    [42]
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """Returns the results for a record: always a list, which may be empty. What it raises fails the job."""

    def timeout(self, value: IN) -> list[OUT]:
        """Returns the results for a record whose call took too long, and is cancelled. By default it fails the job."""
        raise TimeoutError(f"the asynchronous call took longer than its time-out; the record is {value!r}")
