"""What joins by event time have in common: the records of two keyed inputs, kept by their time until it has passed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from penstock.common.batch import Batch, RecordCodec
from penstock.common.errors import MissingTimestampError
from penstock.common.typeinfo import TypeInformation
from penstock.functions.output_tag import OutputTag
from penstock.functions.timer_service import TimeDomain
from penstock.runtime.keyed_function_operator import KeyedFunctionOperator
from penstock.runtime.metrics import LATE_RECORDS_DROPPED
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK, OperatorContext
from penstock.runtime.timers import TimerQueue
from penstock.state.time_buckets import TimeBuckets

LEFT, RIGHT = 0, 1


class TimedJoinOperator(KeyedFunctionOperator):
    """A key that keeps something has a timer at the time when the first of it is over, or before.

    In batch execution there are no timers: the records of a key come in the order of time, and when one comes all
    time before it has passed.
    """

    _state_names: Sequence[str] = ("join: left", "join: right")
    """What the state of each side is called."""

    def __init__(
        self,
        function: Any,
        input_types: Sequence[TypeInformation | None],
        late_data_tags: Sequence[OutputTag | None],
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        super().__init__(function, output_codec, side_output_codecs)
        self._input_types = input_types
        # Records that go to a side output which nobody reads are dropped like all others.
        self._late_tags = [tag if tag and tag.tag_id in self._side_output_codecs else None for tag in late_data_tags]

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        super().open(context)
        self._kept = [
            TimeBuckets(context.store, context.uid, name, context.max_parallelism, each)
            for name, each in zip(self._state_names, self._input_types, strict=True)
        ]
        self._dropped = context.metrics.counter(LATE_RECORDS_DROPPED)

    @abstractmethod
    def _results(
        self,
        keys: Sequence[bytes],
        times: Sequence[int | None],
        records: Iterator[Any],
        side: int,
        stamps: list[int | None],
    ) -> Iterator[Any]:
        """Takes records of one input, and yields what comes of it at once."""

    @abstractmethod
    def _pass_time(self, key: bytes, time: int, stamps: list[int | None]) -> Iterable[Any]:
        """For a key, all time up to the given one has passed: yields what comes of it, and forgets what is over."""

    def process(self, batch: Batch, input_index: int) -> None:
        """Takes records of one of the inputs."""
        keys = self._keys_of(batch)
        if not len(batch):
            return
        times = batch.timestamps or [None] * len(batch)
        if self._context.batch and times[0] is not None:
            self._state.current_key = keys[0]
            self._let_pass(keys[:1], times[0] - 1)
        records = iter(batch.values)
        stamps: list[int | None] = []
        results = self._results(keys, times, records, input_index, stamps)
        self._send_all(results, stamps, lambda error: self._record_failure(error, batch, records))

    def end_epoch(self) -> None:
        """Writes state and timers to the store."""
        super().end_epoch()
        for kept in self._kept:
            self._flush(kept)  # pyright: ignore[reportArgumentType]

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        super().drop_caches()
        for kept in self._kept:
            kept.drop_caches()

    def _keep_until(self, time: int, key: bytes) -> None:
        """Says when something that a key keeps is over."""
        if not self._context.batch:
            self._timers.event_time.register(min(time, MAX_WATERMARK), key)

    def _fire(self, queue: TimerQueue, until: int, domain: TimeDomain) -> None:
        if domain is not TimeDomain.EVENT_TIME:
            return
        if not self._context.batch:
            self._let_pass((key for _, key, _ in queue.due(until)), until)
        elif self._state.current_key is not None:
            self._let_pass((self._state.current_key,), until)

    def _let_pass(self, keys: Iterable[bytes], time: int) -> None:
        stamps: list[int | None] = []
        self._timer_context.firing_domain = TimeDomain.EVENT_TIME
        self._timer_context.record_timestamp = time
        self._send_all(self._passing(keys, time, stamps), stamps, self._timer_failure)

    def _passing(self, keys: Iterable[bytes], time: int, stamps: list[int | None]) -> Iterator[Any]:
        for key in keys:
            self._state.current_key = key
            yield from self._pass_time(key, time, stamps)

    def _is_too_late(self, record: Any, time: int, side: int) -> bool:
        """Whether event time has passed the record; if so it is sent to its side output, or counted."""
        if time >= self.current_watermark:
            return False
        self._drop(record, time, side)
        return True

    def _drop(self, record: Any, time: int, side: int) -> None:
        tag = self._late_tags[side]
        if tag is None:
            self._dropped.inc()
        else:
            self._sender.send_side(tag, record, time)

    def _required(self, time: int | None) -> int:
        """The timestamp of a record, which must have one."""
        if time is None or time == MIN_WATERMARK:
            raise MissingTimestampError(
                f"a record without a timestamp came to '{self._context.name}', which joins by event time; call "
                "`assign_timestamps_and_watermarks(WatermarkStrategy...with_timestamp_assigner(...))` on both streams "
                "before the join"
            )
        return time
