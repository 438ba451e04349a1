"""What is raised where a function stays Python, and where a batch does."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath


class NotTraceable(Exception):
    """The function cannot be computed over columns: why, and at which line of the user's."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(f"{reason} at {place}" if place else reason)
        self.reason = reason
        self.place = place

    def told(self, otherwise: str = "") -> str:
        """The reason and the line, or another one where this has none; files by their names alone."""
        file, _, line = (self.place or otherwise).rpartition(":")
        return f"{self.reason} at {PurePath(file).name}:{line}" if line else self.reason


@dataclass
class Located:
    """Where the function is written that is being traced, once that is known."""

    place: str = ""


@contextmanager
def refusing() -> Generator[Located]:
    """Every failure is a `NotTraceable` with a place: what the tracer stumbles over is not traced."""
    located = Located()
    try:
        yield located
    except NotTraceable as refusal:
        raise refusal if refusal.place else NotTraceable(refusal.reason, located.place) from None
    except Exception as error:
        raise NotTraceable(f"the tracer failed: {type(error).__name__}: {error}", located.place) from error


class Unproven(Exception):
    """For these records the columns may not say what Python says: the function itself has to be asked."""
