"""All records of a key in a window, of two streams at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.datastream.arguments import check_function
from penstock.datastream.join_adapters import co_group_function
from penstock.datastream.output_types import ResultMethod, TypeHint, output_type_of
from penstock.datastream.streams.paired_streams import PairedStreams, StreamPair, WindowedPair
from penstock.functions import CoGroupFunction, JoinKind

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream

_CO_GROUP = (ResultMethod("co_group", True),)


class WindowedCoGroup(WindowedPair):
    """The windows of a co-group."""

    def apply(
        self,
        function: CoGroupFunction[Any, Any, Any] | Callable[[list[Any], list[Any]], Any],
        output_type: TypeHint = None,
    ) -> DataStream:
        """Calls the function with the records of each stream in a window that fires; one list may be empty."""
        check_function("apply", function, CoGroupFunction, "a CoGroupFunction, or a function of two lists")
        resolved = output_type_of("apply", function, output_type, _CO_GROUP)
        return self._applied("CoGroup", function, co_group_function(function), resolved)


class CoGroupedStreams(PairedStreams[WindowedCoGroup]):
    """All records of a key in a window, of both streams at once. Made by `DataStream.co_group`.

    >>> from penstock.datastream.window import TumblingEventTimeWindows
    >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1])
    >>> orders = env.from_collection([("a", 1), ("b", 2), ("a", 3)]).assign_timestamps_and_watermarks(strategy)
    >>> payments = env.from_collection([("a", 4)]).assign_timestamps_and_watermarks(strategy)
    >>> grouped = orders.co_group(payments).where(0).equal_to(0).window(TumblingEventTimeWindows.of("10 ms"))
    >>> sorted(grouped.apply(lambda first, second: [(first[0][0], len(first), len(second))]).execute_and_collect())
    [('a', 2, 1), ('b', 1, 0)]
    """

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        super().__init__(StreamPair("co_group", stream1, stream2, JoinKind.FULL), WindowedCoGroup)
