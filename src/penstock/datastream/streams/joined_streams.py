"""Pairs of records of two streams with the same key in the same window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.datastream.arguments import check_function, check_not_a_class
from penstock.datastream.join_adapters import join_function
from penstock.datastream.output_types import ResolvedType, ResultMethod, TypeHint, output_type_of
from penstock.datastream.streams.paired_streams import PairedStreams, StreamPair, WindowedPair
from penstock.functions import FlatJoinFunction, JoinFunction, JoinKind

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream

PairFunction = JoinFunction[Any, Any, Any] | FlatJoinFunction[Any, Any, Any] | Callable[[Any, Any], Any]
"""What makes results of a pair of records; a plain function makes one."""

_JOIN = (ResultMethod("join", False),)
_FLAT_JOIN = (ResultMethod("join", True),)


def pair_function_type(function: PairFunction, output_type: TypeHint) -> ResolvedType:
    """Checks the function of a join, and finds the type of its results."""
    check_not_a_class("apply", "function", function, (FlatJoinFunction,))
    if isinstance(function, FlatJoinFunction):
        return output_type_of("apply", function, output_type, _FLAT_JOIN)
    check_function("apply", function, JoinFunction, "a JoinFunction, a FlatJoinFunction, or a function of two records")
    return output_type_of("apply", function, output_type, _JOIN)


class WindowedJoin(WindowedPair):
    """The windows of a join."""

    def apply(self, function: PairFunction, output_type: TypeHint = None) -> DataStream:
        """Calls the function with each pair in a window that fires; a plain function returns one result."""
        resolved = pair_function_type(function, output_type)
        return self._applied("Window Join", function, join_function(function, self._pair.kind), resolved)


class JoinedStreams(PairedStreams[WindowedJoin]):
    """Pairs of records with the same key in the same window. Made by `DataStream.join`.

    >>> from penstock.datastream.window import TumblingEventTimeWindows
    >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1])
    >>> orders = env.from_collection([("a", 1), ("b", 2), ("a", 15)]).assign_timestamps_and_watermarks(strategy)
    >>> payments = env.from_collection([("a", 4), ("b", 12)]).assign_timestamps_and_watermarks(strategy)
    >>> joined = orders.join(payments, how="left").where(0).equal_to(0).window(TumblingEventTimeWindows.of("10 ms"))
    >>> sorted(joined.apply(lambda order, payment: (*order, payment and payment[1])).execute_and_collect(), key=repr)
    [('a', 1, 4), ('a', 15, None), ('b', 2, None)]
    """

    def __init__(self, stream1: DataStream, stream2: DataStream, kind: JoinKind) -> None:
        super().__init__(StreamPair("join", stream1, stream2, kind), WindowedJoin)
