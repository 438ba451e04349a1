"""The operator behind `interval_join(how=...)` that lets records without a partner through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from penstock.common.batch import RecordCodec
from penstock.common.errors import MissingTimestampError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.functions.join_kind import JoinKind
from penstock.functions.output_tag import OutputTag
from penstock.runtime.failures import user_function_error
from penstock.runtime.interval_join import IntervalJoinOperator, PairContext, TimedRecords
from penstock.runtime.operator import MAX_WATERMARK, OperatorContext
from penstock.runtime.timed_join_operator import LEFT, RIGHT
from penstock.state.time_buckets import TimeBuckets


class UnpairedContext(PairContext):
    """Of a record without a partner."""

    side: int
    record_timestamp: int
    timestamp: int

    def get_left_timestamp(self) -> int:
        """The timestamp of the left record; raises where there is none."""
        return self._timestamp_of(LEFT)

    def get_right_timestamp(self) -> int:
        """The timestamp of the right record; raises where there is none."""
        return self._timestamp_of(RIGHT)

    def get_timestamp(self) -> int:
        """When it was certain that no partner comes."""
        return self.timestamp

    def _timestamp_of(self, side: int) -> int:
        if side != self.side:
            name = "left" if side == LEFT else "right"
            raise MissingTimestampError(
                f"this record has no partner, so `{name}` is None and has no timestamp; ask `if {name} is not None` "
                f"before `ctx.get_{name}_timestamp()`"
            )
        return self.record_timestamp


class OuterIntervalJoinOperator(IntervalJoinOperator):
    """Calls the function also with records that have found no partner, when they count no more.

    Of the records that a key has at a time, those with a partner came before those without: whatever finds one of them
    finds all that are there. So their number is all that has to be known.
    """

    def __init__(
        self,
        function: Any,
        lower: int,
        upper: int,
        join_kind: JoinKind,
        input_types: Sequence[TypeInformation | None],
        late_data_tags: Sequence[OutputTag | None],
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        super().__init__(function, lower, upper, input_types, late_data_tags, output_codec, side_output_codecs)
        self._call, self._process_element = self._process_element, self._process_pair
        self._lets_through = join_kind.keeps_left, join_kind.keeps_right

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        super().open(context)
        self._unpaired = UnpairedContext(self._sender)
        self._paired = [
            TimeBuckets(context.store, context.uid, f"{kept.name}, paired", context.max_parallelism, Types.LONG())
            for kept in self._kept
        ]
        """How many records of each time have had a partner, of the sides that are let through."""
        self._record: Any = None

    def end_epoch(self) -> None:
        """Writes state and timers to the store."""
        super().end_epoch()
        for paired in self._paired:
            self._flush(paired)  # pyright: ignore[reportArgumentType]

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        super().drop_caches()
        for paired in self._paired:
            paired.drop_caches()

    def _process_pair(self, left: Any, right: Any, pair: PairContext) -> Iterable[Any] | None:
        key = self._state.current_key
        assert key is not None
        for side, time in enumerate((pair.left_timestamp, pair.right_timestamp)):
            if self._lets_through[side]:
                paired, number = self._paired[side], len(self._kept[side].of(key).records[time])
                if paired.of(key).records.get(time) != [number]:
                    paired.replace(key, time, number)
        return self._call(left, right, pair)

    def _left_over(self, key: bytes, side: int, removed: TimedRecords, stamps: list[int | None]) -> Iterator[Any]:
        if not removed or not self._lets_through[side]:
            return
        paired = dict(self._paired[side].remove_until(key, removed[-1][0]))
        context = self._unpaired
        context.side = side
        for time, records in removed:
            context.record_timestamp = time
            # Its own time is behind the watermark: whoever follows event time would take the result for late.
            context.timestamp = min(time + self._counts_for[side], MAX_WATERMARK)
            (number,) = paired.get(time, (0,))
            for self._record in records[number:]:
                pair = (self._record, None) if side == LEFT else (None, self._record)
                for each in self._call(*pair, context) or ():
                    stamps.append(context.timestamp)
                    yield each

    def _remove_after(self, time: int, key: bytes, side: int) -> None:
        """Records that are let through are waited for: their time is exact."""
        if self._lets_through[side]:
            self._keep_until(time, key)
        else:
            super()._remove_after(time, key, side)

    def _timer_failure(self, error: Exception) -> Exception:
        return user_function_error(error, self._context, key=self._state.current_key, record=self._record)
