"""The operator behind `assign_timestamps_and_watermarks`."""

from __future__ import annotations

import json
from hashlib import blake2b

from penstock.common.batch import Batch
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.runtime.operator import MAX_WATERMARK, Operator, OperatorContext
from penstock.runtime.timestamps_and_watermarks import TimeProgress, TimestampsAndWatermarks

_STATE_TAG = b"\x00wmk"


class TimestampsAndWatermarksOperator(Operator):
    """Gives records new timestamps and makes watermarks of them.

    Watermarks and idleness that come in are dropped; only the end of time passes. One generator per subtask.
    """

    passes_idleness = False

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._strategy = strategy
        self._opened: TimestampsAndWatermarks | None = None
        self._saved: bytes | None = None

    def open(self, context: OperatorContext) -> None:
        """Remembers where state is."""
        self._context = context
        self._key = blake2b(context.uid.encode(), digest_size=8).digest() + _STATE_TAG

    def process(self, batch: Batch, input_index: int) -> None:
        """Sends records on with new timestamps, and watermarks between them."""
        time = self._time()
        time.process(batch)
        self.current_watermark = time.watermark

    def advance_watermark(self, watermark: int) -> int:
        """Lets the end of time pass."""
        time = self._time()
        if watermark == MAX_WATERMARK:
            time.watermark, time.is_idle = MAX_WATERMARK, False
        self.current_watermark = time.watermark
        return self.current_watermark

    def restore_watermark(self, watermark: int) -> None:
        """The watermark that was last sent; that of the inputs does not matter."""
        self.current_watermark = self._time().watermark

    def time_goes_on(self, *, anew: bool) -> None:
        """That no record came while there was no epoch is no silence."""
        self._time().go_on(anew=anew)

    def records_waited(self, ms: int) -> None:
        """What had to wait for its turn was not silent."""
        self._time().wait(ms)

    def time_passes(self) -> None:
        """Asks the generator as often as it is to be asked."""
        time = self._time()
        interval = self._context.watermark_interval
        if interval and time.watermark < MAX_WATERMARK and self._context.processing_time - time.asked_at >= interval:
            time.tick()
            self.current_watermark = time.watermark

    def end_epoch(self) -> None:
        """Sends the watermark of this epoch's records, and keeps what the next epoch needs."""
        time = self._time()
        if time.watermark < MAX_WATERMARK:
            time.tick()
            self.current_watermark = time.watermark
        if self._context.batch:
            return
        data = json.dumps(time.progress().to_json(), sort_keys=True).encode()
        if data != self._saved:
            self._context.store.put(self._key, data)
            self._saved = data

    def next_processing_timer(self) -> int | None:
        """When the generator is to be asked again, or patience ends, though no record came."""
        if self._context.batch or self.current_watermark == MAX_WATERMARK:
            return None
        return self._time().progress().next_tick(self._strategy, self._context.watermark_interval)

    def drop_caches(self) -> None:
        """Forgets what was read from the store."""
        self._opened = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be expected for now."""
        return self._time().is_idle

    def _time(self) -> TimestampsAndWatermarks:
        if self._opened is None:
            now = self._context.processing_time
            progress = TimeProgress(quiet_since=now, asked_at=now)
            self._saved = self._context.store.get(self._key)
            if self._saved is not None:
                progress = TimeProgress(**json.loads(self._saved))
            self._opened = TimestampsAndWatermarks(self._strategy, self._context, progress, is_split=False)
        return self._opened
