"""The operator behind `interval_join`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from penstock.common.batch import RecordCodec
from penstock.common.errors import StateMisfitError
from penstock.common.typeinfo import TypeInformation
from penstock.functions.adapt import process_join_callable
from penstock.functions.join import ProcessJoinFunction
from penstock.functions.output_tag import OutputTag
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK, OperatorContext
from penstock.runtime.result_sender import ResultSender
from penstock.runtime.timed_join_operator import LEFT, RIGHT, TimedJoinOperator
from penstock.runtime.window_state_form import has_entries

_STATE_NAMES = ("join: left", "join: left, also unpaired"), ("join: right", "join: right, also unpaired")
"""What the state of each side is called where records without a partner are dropped, and where they go on."""
TimedRecords = list[tuple[int, list[Any]]]
"""The records of each time."""


class PairContext(ProcessJoinFunction.Context):
    """One object per operator, set anew for each pair."""

    left_timestamp: int
    right_timestamp: int

    def __init__(self, sender: ResultSender) -> None:
        self._sender = sender

    def get_left_timestamp(self) -> int:
        """The timestamp of the left record."""
        return self.left_timestamp

    def get_right_timestamp(self) -> int:
        """The timestamp of the right record."""
        return self.right_timestamp

    def get_timestamp(self) -> int:
        """The greater of the two."""
        return max(self.left_timestamp, self.right_timestamp)

    def output(self, tag: OutputTag, value: Any) -> None:
        """Sends a record to a side output."""
        self._sender.send_side(tag, value, self.get_timestamp())


class IntervalJoinOperator(TimedJoinOperator):
    """Joins every record with those of the other input that are there already and close enough in time.

    A left record can have partners up to `upper` after its own time, and a right one up to `-lower`: it counts until
    the watermark has reached that. What is late, and what counts, is as in Flink. What counts no more is removed some
    time later, much of it at once: a timer for every record would cost more than the join.
    """

    _lets_through = False, False
    """Whether records of each side go on without a partner."""

    def __init__(
        self,
        function: Any,
        lower: int,
        upper: int,
        input_types: Sequence[TypeInformation | None],
        late_data_tags: Sequence[OutputTag | None],
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        super().__init__(function, input_types, late_data_tags, output_codec, side_output_codecs)
        self._process_element = process_join_callable(function)
        self._bounds = (lower, upper), (-upper, -lower)
        """From where to where partners are, for records of each side."""
        self._counts_for = max(upper, 0), max(-lower, 0)
        """How long after their time records of each side count."""

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        names = [of_side[lets_through] for of_side, lets_through in zip(_STATE_NAMES, self._lets_through, strict=True)]
        self._state_names = names
        for name in chain.from_iterable(_STATE_NAMES):
            if name not in names:
                _refuse_records(context, name)
        super().open(context)
        self._pair = PairContext(self._sender)

    def _results(
        self,
        keys: Sequence[bytes],
        times: Sequence[int | None],
        records: Iterator[Any],
        side: int,
        stamps: list[int | None],
    ) -> Iterator[Any]:
        # One loop, without functions of its own: this runs for every record and every pair.
        is_left, other_side = side == LEFT, RIGHT - side
        (lower, upper), counts_for = self._bounds[side], self._counts_for[side]
        add, partners_of = self._kept[side].add, self._kept[other_side].of
        state, pair, process_element, add_stamp = self._state, self._pair, self._process_element, stamps.append
        watermark = self.current_watermark
        # Partners that count no more may still be there. Those that never counted longer than their own time are not.
        first_partner = watermark - self._counts_for[other_side] + 1 if self._counts_for[other_side] else MIN_WATERMARK
        for key, time, record in zip(keys, times, records, strict=True):
            if time is None or time < watermark or time == MIN_WATERMARK:
                self._drop(record, self._required(time), side)
                continue
            state.current_key = key
            if add(key, time, record):
                self._remove_after(time + counts_for, key, side)
            partners = partners_of(key)
            found = partners.times
            if not found or found[-1] < time + lower or found[0] > time + upper:
                continue
            begin = bisect_left(found, max(time + lower, first_partner))
            for partner_time in found[begin : bisect_right(found, time + upper)]:
                pair.left_timestamp, pair.right_timestamp = (time, partner_time) if is_left else (partner_time, time)
                stamp = max(time, partner_time)
                for partner in partners.records[partner_time]:
                    one, two = (record, partner) if is_left else (partner, record)
                    results = process_element(one, two, pair)
                    if results is not None:
                        for each in results:
                            add_stamp(stamp)
                            yield each

    def _pass_time(self, key: bytes, time: int, stamps: list[int | None]) -> Iterable[Any]:
        for side, (kept, counts_for) in enumerate(zip(self._kept, self._counts_for, strict=True)):
            removed = kept.remove_until(key, time if time == MAX_WATERMARK else time - counts_for)
            if first := kept.of(key).times[:1]:
                self._remove_after(first[0] + counts_for, key, side)
            yield from self._left_over(key, side, removed, stamps)

    def _left_over(self, key: bytes, side: int, removed: TimedRecords, stamps: list[int | None]) -> Iterable[Any]:
        """What comes of records that count no more."""
        return ()

    def _remove_after(self, time: int, key: bytes, side: int) -> None:
        """Sets a timer, at the latest when a quarter of the time has passed again for which records count."""
        self._keep_until(time + -time % (self._counts_for[side] // 4 or 1), key)


def _refuse_records(context: OperatorContext, name: str) -> None:
    """Of records that were kept for another kind of join it is not known whether they have had a partner."""
    if has_entries(context, name):
        raise StateMisfitError(
            f"operator '{context.name}': it has records of an interval_join with another `how`, of which it is not "
            "known which have had a partner; keep `how`, give the operator another uid, or let event time pass all "
            "records before the program changes"
        )
