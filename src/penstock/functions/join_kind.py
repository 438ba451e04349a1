"""Which records without a partner a join lets through."""

from __future__ import annotations

from enum import Enum


class JoinKind(Enum):
    """Inner: none; left, right, full: those of that side, with None in the place of the other."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"

    @property
    def keeps_left(self) -> bool:
        """Whether records of the left side go on without a partner."""
        return self in (JoinKind.LEFT, JoinKind.FULL)

    @property
    def keeps_right(self) -> bool:
        """Whether records of the right side go on without a partner."""
        return self in (JoinKind.RIGHT, JoinKind.FULL)
