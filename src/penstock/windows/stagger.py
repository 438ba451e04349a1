"""How windows of different subtasks are set apart, so that they do not all fire at once."""

from __future__ import annotations

from enum import Enum
from random import Random

from penstock.windows.window import TimeWindow


class WindowStagger(Enum):
    """Where the windows of a subtask begin."""

    ALIGNED = "aligned"
    """At the same times everywhere."""
    RANDOM = "random"
    """Shifted by a random part of the size, which stays the same for the subtask."""
    NATURAL = "natural"
    """Shifted by the processing time at which the subtask saw its first record."""

    def get_stagger_offset(self, current_processing_time: int, size: int, seed: str = "") -> int:
        """By how much windows are shifted, from 0 to size. The same seed gives the same random shift."""
        match self:
            case WindowStagger.ALIGNED:
                return 0
            case WindowStagger.RANDOM:
                return int(Random(seed).random() * size)  # noqa: S311 (no secret)
            case WindowStagger.NATURAL:
                start = TimeWindow.get_window_start_with_offset(current_processing_time, 0, size)
                return current_processing_time - start
