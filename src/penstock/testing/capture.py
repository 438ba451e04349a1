"""Catches what a pipeline emits, although the pipeline is copied as if it were sent to a worker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import Any

from penstock.functions import ProcessFunction

Emitted = tuple[Any, int | None]
"""A record and its timestamp."""

_caught: defaultdict[int, list[Emitted]] = defaultdict(list)
_numbers = count()


class Capture(ProcessFunction):
    """Keeps every record with its timestamp; copies of a capture keep theirs at the same place."""

    def __init__(self) -> None:
        self._number = next(_numbers)

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any]:
        """Keeps the record, and passes it on."""
        _caught[self._number].append((value, ctx.timestamp()))
        return (value,)

    def taken(self) -> list[Emitted]:
        """What came since the last call."""
        return _caught.pop(self._number, [])


def ignore(value: Any) -> None:
    """A sink for records that were caught before."""
