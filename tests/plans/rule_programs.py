"""One program for each rule that rewrites what operators read, compute or send."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from penstock.common import Configuration, Row, TypeInformation, Types, WatermarkStrategy
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    FieldCondition,
    Source,
    SplitEnumerator,
    SplitReader,
)
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import combinable
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.expressions import col, count, lit, max_, window_end
from penstock.plan.plan import Plan

BID = Types.ROW_NAMED(
    ["auction", "bidder", "price", "channel", "url", "at"],
    [Types.LONG(), Types.LONG(), Types.LONG(), Types.STRING(), Types.STRING(), Types.LONG()],
)


class Bids(Source):
    """A source that can leave out fields, and parts without certain values."""

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def produced_type(self) -> TypeInformation:
        return BID

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        raise NotImplementedError

    def create_reader(self) -> SplitReader:
        raise NotImplementedError

    def reading(self, fields: Sequence[str]) -> Source:
        return copy.copy(self)

    def skipping(self, conditions: Sequence[FieldCondition]) -> Source:
        return copy.copy(self)

    def describe(self) -> str:
        return "bids"


def _program(build: Callable[[DataStream], DataStream], name: str) -> Plan:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    build(env.from_source(Bids()).name("bids")).print()
    return env.get_plan(name)


def pruned_columns() -> Plan:
    """Two of six fields are read; one of them crosses the exchange."""
    return _program(
        lambda bids: bids.filter(col("auction") % 123 == 0).rebalance().map(col("price") * 0.908), "pruned columns"
    )


def pushed_filter() -> Plan:
    """A filter goes before the map that renames what it looks at, and the source hears of it."""
    return _program(
        lambda bids: bids.select(number=col("auction"), cents=col("price")).filter(col("number") == 1007),
        "pushed filter",
    )


def filtered_exchange() -> Plan:
    """What a filter behind a union would drop is not sent."""
    return _program(
        lambda bids: bids.union(bids.map((col("auction"), *map(col, BID_FIELDS[1:])), output_type=BID)).filter(
            col("channel") == "Apple"
        ),
        "filtered exchange",
    )


def aggregated_before() -> Plan:
    """Records of one key and pane become one row before they are sent."""
    stamps = WatermarkStrategy.for_bounded_out_of_orderness("4 s").with_timestamp_assigner("at")
    return _program(
        lambda bids: (
            bids.assign_timestamps_and_watermarks(stamps)
            .key_by("auction")
            .window(SlidingEventTimeWindows.of("10 s", "2 s"))
            .aggregate(end=window_end(), bids=count(), highest=max_("price"))
        ),
        "aggregated before",
    )


@combinable
def _either(one: Row, other: Row) -> Row:
    return Row(*(max(pair) for pair in zip(one, other, strict=True)))


def declared_function() -> Plan:
    """Senders call a function of which the program says that parts of the records may be reduced first."""
    stamps = WatermarkStrategy.for_bounded_out_of_orderness("4 s").with_timestamp_assigner("at")
    return _program(
        lambda bids: (
            bids.assign_timestamps_and_watermarks(stamps)
            .key_by("auction")
            .window(TumblingEventTimeWindows.of("10 s"))
            .reduce(_either)
        ),
        "declared function",
    )


def folded_constants() -> Plan:
    """What is the same for all records is computed once."""
    return _program(
        lambda bids: bids.select("auction", late=col("at") + lit(60) * 1000 > lit(10) ** 6), "folded constants"
    )


def traced_functions() -> Plan:
    """Lambdas are expressions where that is proven; the source and the exchange hear of what the first one asks for."""
    return _program(
        lambda bids: (
            bids.filter(lambda bid: bid.channel == "Apple" and bid.price > 100)
            .map(lambda bid: (bid.auction, bid.price * 908 // 1000), output_type=Types.TUPLE([Types.LONG()] * 2))
            .rebalance()
            .filter(lambda pair: pair[0] == 1007)
            .map(lambda pair: [*pair], output_type=Types.LIST(Types.LONG()))
        ),
        "traced functions",
    )


def recognised_functions() -> Plan:
    """A reduce of windows is computed in columns, and before the exchange: a hot key is reduced where it is read."""
    stamps = WatermarkStrategy.for_bounded_out_of_orderness("4 s").with_timestamp_assigner(lambda bid, before: bid.at)
    return _program(
        lambda bids: (
            bids.assign_timestamps_and_watermarks(stamps)
            .map(lambda bid: (bid.auction, bid.price, 1), output_type=Types.TUPLE([Types.LONG()] * 3))
            .key_by(lambda bid: bid[0])
            .window(TumblingEventTimeWindows.of("10 s"))
            .reduce(lambda one, other: (one[0], max(one[1], other[1]), one[2] + other[2]))
        ),
        "recognised functions",
    )


BID_FIELDS = BID.get_field_names()
RULE_PROGRAMS: dict[str, Callable[[], Plan]] = {
    program.__name__: program
    for program in (
        pruned_columns,
        pushed_filter,
        filtered_exchange,
        aggregated_before,
        declared_function,
        folded_constants,
        traced_functions,
        recognised_functions,
    )
}
