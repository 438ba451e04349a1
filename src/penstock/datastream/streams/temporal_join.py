"""Records of a keyed stream, each with the version of another that held at its time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from penstock.datastream.arguments import check_instance
from penstock.datastream.join_keys import exchanged, key_exchange, unified_keys
from penstock.datastream.output_types import TypeHint
from penstock.datastream.streams.joined_streams import PairFunction, pair_function_type
from penstock.functions import JoinKind, OutputTag
from penstock.plan.join_nodes import TemporalJoinNode

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream


class TemporalJoin:
    """A keyed stream and the versions of what its keys stand for. Made by `KeyedStream.temporal_join`.

    >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1])
    >>> orders = env.from_collection([("fig", 12), ("fig", 25)]).assign_timestamps_and_watermarks(strategy)
    >>> prices = env.from_collection([("fig", 10, 0.5), ("fig", 20, 0.6)]).assign_timestamps_and_watermarks(strategy)
    >>> priced = orders.key_by(0).temporal_join(prices.key_by(0)).apply(lambda order, price: (*order, price[2]))
    >>> list(priced.execute_and_collect())
    [('fig', 12, 0.5), ('fig', 25, 0.6)]
    """

    def __init__(self, stream: DataStream, versions: DataStream, kind: JoinKind) -> None:
        exchanges = unified_keys(
            "temporal_join",
            key_exchange("temporal_join", "the stream", stream),
            key_exchange("temporal_join", "the stream of versions", versions),
        )
        self._streams = stream, versions
        self._inputs = tuple(exchanged(*each) for each in zip(self._streams, exchanges, strict=True))
        self._kind = kind
        self._late_data_tags: list[OutputTag | None] = [None, None]

    def side_output_left_late_data(self, output_tag: OutputTag) -> Self:
        """Sends records that are behind the watermark to a side output: the version of their time may be gone.

        Without it, or where nobody reads it, such records are dropped, and counted as `num_late_records_dropped`.
        """
        return self._set_late_data_tag("side_output_left_late_data", 0, output_tag)

    def side_output_right_late_data(self, output_tag: OutputTag) -> Self:
        """Sends versions that come too late to hold for any record to a side output, instead of dropping them."""
        return self._set_late_data_tag("side_output_right_late_data", 1, output_tag)

    def apply(self, function: PairFunction, output_type: TypeHint = None) -> DataStream:
        """Calls the function with each record and its version (None where a left join finds none).

        It is called when the watermark has reached the record's time; results have the record's timestamp.
        """
        resolved = pair_function_type(function, output_type)
        stream, versions = self._streams
        return stream.program.transform(
            TemporalJoinNode,
            "Temporal Join",
            self._inputs,
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            emits_side_outputs=True,
            function=function,
            join_kind=self._kind,
            input_types=(stream.get_type(), versions.get_type()),
            late_data_tags=tuple(self._late_data_tags),
        )

    def _set_late_data_tag(self, method: str, side: int, output_tag: OutputTag) -> Self:
        check_instance(method, "output_tag", output_tag, (OutputTag,), "an OutputTag")
        self._late_data_tags[side] = output_tag
        return self
