"""Pairs of records of two keyed streams that are close in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, Self

from penstock.common.time import DurationLike
from penstock.datastream.arguments import check_function, check_instance, refuse
from penstock.datastream.join_keys import exchanged, key_exchange, unified_keys
from penstock.datastream.output_types import PROCESS, TypeHint, output_type_of
from penstock.functions import JoinKind, OutputTag, ProcessJoinFunction
from penstock.plan.join_nodes import IntervalJoinNode
from penstock.windows.checks import offset_millis

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream


class IntervalJoin:
    """Two keyed streams, joined by event time. Made by `KeyedStream.interval_join`.

    >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1])
    >>> orders = env.from_collection([("a", 10), ("b", 20)]).assign_timestamps_and_watermarks(strategy)
    >>> payments = env.from_collection([("a", 14), ("b", 31)]).assign_timestamps_and_watermarks(strategy)
    >>> class Delay(ProcessJoinFunction):
    ...     def process_element(self, left, right, ctx):
    ...         yield left[0], ctx.get_right_timestamp() - ctx.get_left_timestamp()
    >>> close = orders.key_by(0).interval_join(payments.key_by(0)).between(0, "10 ms").process(Delay())
    >>> list(close.execute_and_collect())
    [('a', 4)]
    """

    def __init__(self, left: DataStream, right: DataStream, kind: JoinKind) -> None:
        exchanges = (
            key_exchange("interval_join", "the left stream", left),
            key_exchange("interval_join", "the right stream", right),
        )
        self._streams = left, right
        self._kind = kind
        self._exchanges = unified_keys("interval_join", *exchanges)

    def in_event_time(self) -> Self:
        """Joins by event time, as it does anyway."""
        return self

    def in_processing_time(self) -> NoReturn:
        """Refused: the join is one of event time, as in Flink."""
        raise refuse(
            "in_processing_time: streams can be joined within bounds of event time only; assign timestamps "
            "(`assign_timestamps_and_watermarks`), or connect the streams and set timers"
        )

    def between(self, lower_bound: DurationLike, upper_bound: DurationLike) -> IntervalJoined:
        """Says when a right record belongs to a left one: from `lower_bound` to `upper_bound` after it.

        Negative bounds are before it. Both bounds are part of the interval.
        """
        lower = offset_millis("between", "lower_bound", lower_bound)
        upper = offset_millis("between", "upper_bound", upper_bound)
        if lower > upper:
            raise refuse(
                f"between: the lower bound {lower_bound!r} is above the upper bound {upper_bound!r}; expected "
                "`between(lower_bound, upper_bound)`"
            )
        exchanges = zip(self._streams, self._exchanges, strict=True)
        inputs = tuple(exchanged(*each) for each in exchanges)
        return IntervalJoined(self._streams, inputs, self._kind, lower, upper)

    def process(self, *_arguments: Any, **_named: Any) -> NoReturn:
        """Refused: the bounds are missing."""
        raise refuse(
            "process: the interval_join has no `between(...)` yet; write "
            "`left.interval_join(right).between(lower_bound, upper_bound).process(function)`"
        )


class IntervalJoined:
    """Two keyed streams and the bounds that pairs keep to."""

    def __init__(
        self, streams: tuple[DataStream, DataStream], inputs: tuple[Any, ...], kind: JoinKind, lower: int, upper: int
    ) -> None:
        self._streams = streams
        self._inputs = inputs
        self._kind = kind
        self._lower = lower
        self._upper = upper
        self._is_exclusive = [False, False]
        self._late_data_tags: list[OutputTag | None] = [None, None]

    def lower_bound_exclusive(self) -> Self:
        """Takes the lower bound itself out of the interval."""
        self._is_exclusive[0] = True
        return self

    def upper_bound_exclusive(self) -> Self:
        """Takes the upper bound itself out of the interval."""
        self._is_exclusive[1] = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> Self:
        """Sends left records that are behind the watermark to a side output: `get_side_output(tag)` reads it.

        Without it, or where nobody reads it, such records are dropped, and counted as `num_late_records_dropped`.
        """
        return self._set_late_data_tag("side_output_left_late_data", 0, output_tag)

    def side_output_right_late_data(self, output_tag: OutputTag) -> Self:
        """Sends right records that are behind the watermark to a side output, instead of dropping them."""
        return self._set_late_data_tag("side_output_right_late_data", 1, output_tag)

    def process(
        self,
        process_join_function: ProcessJoinFunction[Any, Any, Any] | Callable[[Any, Any, Any], Iterable[Any] | None],
        output_type: TypeHint = None,
    ) -> DataStream:
        """Calls the function with each pair; results have the greater of the two timestamps.

        In an outer join it is also called with records that have no partner, and None in its place. Their results have
        the time at which it was certain that no partner comes: a left record's plus the upper bound, a right record's
        minus the lower one, and at least its own.
        """
        expected = "a ProcessJoinFunction, or a function of two records and a context"
        check_function("process", process_join_function, ProcessJoinFunction, expected)
        resolved = output_type_of("process", process_join_function, output_type, PROCESS)
        lower, upper = self._lower + self._is_exclusive[0], self._upper - self._is_exclusive[1]
        if lower > upper:
            raise refuse(
                f"process: without its bounds the interval from {self._lower} to {self._upper} ms is empty; no pair "
                "would ever be found"
            )
        left, right = self._streams
        kind = "" if self._kind is JoinKind.INNER else f"{self._kind.value.title()} "
        return left.program.transform(
            IntervalJoinNode,
            "Interval Join",
            self._inputs,
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            emits_side_outputs=True,
            function=process_join_function,
            lower=lower,
            upper=upper,
            join_kind=self._kind,
            input_types=(left.get_type(), right.get_type()),
            late_data_tags=tuple(self._late_data_tags),
        ).set_description(f"{kind}Interval Join from {lower} to {upper} ms")

    def _set_late_data_tag(self, method: str, side: int, output_tag: OutputTag) -> Self:
        check_instance(method, "output_tag", output_tag, (OutputTag,), "an OutputTag")
        self._late_data_tags[side] = output_tag
        return self
