"""What is raised where a function stays Python, and where a batch does."""

from __future__ import annotations


class NotTraceable(Exception):
    """The function cannot be computed over columns: why, and at which line of the user's."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(f"{reason} at {place}" if place else reason)
        self.reason = reason
        self.place = place


class Unproven(Exception):
    """For these records the columns may not say what Python says: the function itself has to be asked."""
