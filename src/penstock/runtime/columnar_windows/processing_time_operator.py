"""The operator behind tumbling windows of processing time whose aggregates are declared."""

from __future__ import annotations

import numpy as np

from penstock.common.batch import Batch
from penstock.runtime.columnar_windows.base import Mask
from penstock.runtime.columnar_windows.key_numbers import Numbers
from penstock.runtime.columnar_windows.operator import ColumnarWindowOperator


class ProcessingTimeWindowOperator(ColumnarWindowOperator):
    """All records of an epoch are in the window of its processing time. Nothing is late.

    Windows that fire take their only pane with them; so what is in the store has not fired.
    """

    def advance_watermark(self, watermark: int) -> int:
        """Passes event time on, which these windows do not follow."""
        self.current_watermark = watermark
        return watermark

    def advance_processing_time(self, now: int) -> None:
        """Fires the windows that are over."""
        self._combine_pending()
        for place in sorted(place for place in self._open_windows if place[0] < now):
            self._fire(self._open_windows.pop(place))

    def next_processing_timer(self) -> int | None:
        """The end of the first window."""
        return min(self._open_windows)[0] + 1 if self._open_windows else None

    def finish(self) -> None:
        """A batch ends: so do its windows. A stream that ends leaves windows that are not over, as in Flink."""
        self._combine_pending()
        if self._context.batch:
            for place in sorted(self._open_windows):
                self._fire(self._open_windows.pop(place))

    def _panes_of(self, batch: Batch) -> Numbers:
        return self._current_pane(len(batch))

    def _panes_of_partials(self, starts: Numbers) -> Numbers:
        return self._current_pane(len(starts))

    def _current_pane(self, count: int) -> Numbers:
        now, width = self._context.processing_time, self._assigner.bucket_width
        offset = self._assigner.bucket_offset(self._assigner_context)
        return np.full(count, now - (now - offset) % width, np.int64)

    def _late(self, panes: Numbers) -> Mask | None:
        return None

    def _learn(self, pane: int) -> None:
        for window in self._windows_of(pane):
            self._open_windows[window.max_timestamp(), window.start] = window
