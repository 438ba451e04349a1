"""Which records of a sender may become one before they are sent: those of one key and one pane of windows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.watermark_generator import MIN_TIMESTAMP
from penstock.functions.function import RuntimeContext
from penstock.runtime.columnar_windows.key_numbers import Numbers
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner

FEWEST_RECORDS = 256
"""A smaller batch is not worth the calls of kernels."""
_MOST_GROUPS_PER_RECORD = 0.25
_FAR_TIME = 1 << 62


def are_few(groups: int, records: int) -> bool:
    """Whether it pays to send one row for each group; else records are sent as they are."""
    return groups <= _MOST_GROUPS_PER_RECORD * records


class Groups(NamedTuple):
    """A number for every key and pane."""

    numbers: Numbers
    """Of each record."""
    first_pane: int
    width: int
    keys: int

    def panes(self, numbers: Numbers) -> Numbers:
        """Where the panes of some groups begin."""
        return self.first_pane + numbers // self.keys * self.width

    def codes(self, numbers: Numbers) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        """The keys of some groups, as places in the dictionary."""
        return (numbers % self.keys).astype(np.int32)


class PaneGroups:
    """Groups records by key and pane; without windows, or in those of the clock, by key alone.

    Whether a record is late is decided where it arrives, by its pane alone; so no pane is mixed with another.
    """

    def __init__(self, assigner: AlignedWindowAssigner | None) -> None:
        self._has_panes = assigner is not None and assigner.is_event_time()
        self._width, self._offset = 1, 0
        if assigner is not None and self._has_panes:
            self._width = assigner.bucket_width
            self._offset = assigner.bucket_offset(_NoContext())

    def panes_of(self, stamps: pa.Array | None, count: int) -> Numbers | None:
        """Where the panes of records begin, in event time; None where one has no time, or one far away."""
        if not self._has_panes:
            return np.zeros(count, np.int64)
        if stamps is None or stamps.null_count:
            return None
        times = stamps.to_numpy()
        if int(times.min()) <= max(MIN_TIMESTAMP, -_FAR_TIME) or int(times.max()) >= _FAR_TIME:
            return None
        return times - (times - self._offset) % self._width

    def of(self, keys: DictionaryKeys, panes: Numbers) -> Groups | None:
        """The groups; None where there are more than numbers."""
        first, number = int(panes.min()), max(len(keys.distinct), 1)
        if (int(panes.max()) - first) // self._width >= _FAR_TIME // number:
            return None
        return Groups((panes - first) // self._width * number + keys.codes, first, self._width, number)


class _NoContext(WindowAssigner.WindowAssignerContext):
    """For windows that depend on the timestamp alone."""

    def get_current_processing_time(self) -> int:
        """Not known to senders."""
        raise NotImplementedError

    def get_runtime_context(self) -> RuntimeContext:
        """Not known to senders."""
        raise NotImplementedError
