"""Two streams as one: joins by window, by interval, by version and with tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from penstock.datastream.arguments import refuse_argument
from penstock.datastream.streams.co_grouped_streams import CoGroupedStreams
from penstock.datastream.streams.connected_streams import KeyHint
from penstock.datastream.streams.interval_join import IntervalJoin
from penstock.datastream.streams.joined_streams import JoinedStreams
from penstock.datastream.streams.lookup_join import BROADCAST, LookupJoin
from penstock.datastream.streams.temporal_join import TemporalJoin
from penstock.functions import JoinKind

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream

_ALL_KINDS = tuple(JoinKind)
_INNER_OR_LEFT = (JoinKind.INNER, JoinKind.LEFT)


class JoiningStream:
    """The joins of a `DataStream`."""

    def _check_other(self, method: str, stream: object) -> None:
        """Refuses what is no stream of the same environment."""
        raise NotImplementedError

    def _paired_with(self, method: str, other_stream: DataStream) -> DataStream:
        self._check_other(method, other_stream)
        return cast("DataStream", self)

    def join(self, other_stream: DataStream, how: str = "inner") -> JoinedStreams:
        """Pairs of records with the same key in the same window.

        `how` is "inner", or "left", "right" or "full": then records without a partner in their window are paired with
        None.

        >>> from penstock.datastream.window import TumblingProcessingTimeWindows
        >>> names, ages = env.from_collection([("a", "Ann")]), env.from_collection([("a", 42)])
        >>> pairs = names.join(ages).where(0).equal_to(0).window(TumblingProcessingTimeWindows.of("1 d"))
        >>> pairs.apply(lambda name, age: (name[1], age[1]))
        <DataStream of PickledByteArrayTypeInfo from 'Window Join'>
        """
        stream = self._paired_with("join", other_stream)
        return JoinedStreams(stream, other_stream, _kind("join", how, _ALL_KINDS))

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """All records of a key in a window, of both streams: what every outer join can be made of.

        >>> from penstock.datastream.window import TumblingProcessingTimeWindows
        >>> names, ages = env.from_collection([("a", "Ann")]), env.from_collection([("a", 42)])
        >>> groups = names.co_group(ages).where(0).equal_to(0).window(TumblingProcessingTimeWindows.of("1 d"))
        >>> groups.apply(lambda names, ages: [len(names) - len(ages)])
        <DataStream of PickledByteArrayTypeInfo from 'CoGroup'>
        """
        return CoGroupedStreams(self._paired_with("co_group", other_stream), other_stream)

    def interval_join(self, other_stream: DataStream, how: str = "inner") -> IntervalJoin:
        """Pairs of records with the same key whose timestamps are close; both streams must be keyed.

        `how` is "inner", or "left", "right" or "full": then records of that stream, or of both, for which no partner
        can come any more are paired with None.

        >>> names, ages = env.from_collection([("a", "Ann")]), env.from_collection([("a", 42)])
        >>> names.key_by(0).interval_join(ages.key_by(0)).between("-5 s", "5 s").process(lambda l, r, ctx: [l + r])
        <DataStream of PickledByteArrayTypeInfo from 'Interval Join'>
        """
        stream = self._paired_with("interval_join", other_stream)
        return IntervalJoin(stream, other_stream, _kind("interval_join", how, _ALL_KINDS))

    def temporal_join(self, versions: DataStream, how: str = "inner") -> TemporalJoin:
        """Each record with the newest record of `versions` that has its key and is not later; both must be keyed.

        `how` is "inner", or "left": then a record that comes before the first version is paired with None.

        >>> orders, prices = env.from_collection([("fig", 3)]), env.from_collection([("fig", 0.5)])
        >>> orders.key_by(0).temporal_join(prices.key_by(0)).apply(lambda order, price: order[1] * price[1])
        <DataStream of PickledByteArrayTypeInfo from 'Temporal Join'>
        """
        stream = self._paired_with("temporal_join", versions)
        return TemporalJoin(stream, versions, _kind("temporal_join", how, _INNER_OR_LEFT))

    def lookup_join(
        self,
        table: Any,
        on: str | list[str],
        *,
        key: KeyHint | None = None,
        how: str = "inner",
        valid_from: str | None = None,
        distribution: str = BROADCAST,
    ) -> LookupJoin:
        """Each record with the rows of a table that have its key.

        `table` is a pandas DataFrame, an Arrow table or a Spark DataFrame, `on` its column, or columns. `key` is the
        key of a record, as `key_by` takes it; without it, the fields of the same names. `how` is "inner", or "left":
        then a record without a row is paired with None.

        With `valid_from`, a column with times, rows are versions: a record meets the newest whose time is not after
        its own timestamp.

        `distribution` is "broadcast": the table is in the memory of every subtask; or "keyed": its rows are state,
        each in the subtask of its key, and records wait until the whole table has been read.

        >>> import pyarrow
        >>> prices = pyarrow.table({"fruit": ["fig", "fig"], "since": [0, 20], "price": [0.5, 0.6]})
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1])
        >>> orders = env.from_collection([("fig", 12), ("fig", 25)]).assign_timestamps_and_watermarks(strategy)
        >>> priced = orders.lookup_join(prices, on="fruit", key=0, valid_from="since")
        >>> list(priced.apply(lambda order, row: (order[1], row.price)).execute_and_collect())
        [(12, 0.5), (25, 0.6)]
        """
        kind = _kind("lookup_join", how, _INNER_OR_LEFT)
        return LookupJoin(cast("DataStream", self), table, on, key, kind, valid_from, distribution)


def _kind(method: str, how: object, allowed: tuple[JoinKind, ...]) -> JoinKind:
    for kind in allowed:
        if kind.value == how:
            return kind
    expected = " or ".join(f'"{kind.value}"' for kind in allowed)
    raise refuse_argument(method, "how", how, expected)
