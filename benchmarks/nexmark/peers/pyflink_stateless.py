"""Queries that look at one bid at a time, in PyFlink's DataStream API."""

from __future__ import annotations

from collections.abc import Iterable

from pyflink.common import Row
from pyflink.datastream import DataStream, FlatMapFunction, MapFunction, RuntimeContext

from nexmark.peers.pyflink_streams import Streams
from nexmark.peers.python_functions import RATE, SIDE_INPUT_KEYS, channel_id_of, part_of_day, read_side_input

PLAIN_BID = "auction, bidder, price, `dateTime`, extra"


def q0(streams: Streams) -> DataStream:
    return streams.of("bids", PLAIN_BID).map(lambda bid: bid, streams.result)


def in_euros(bid: Row) -> Row:
    auction, bidder, price, time, extra = bid
    return Row(auction, bidder, price * RATE, time, extra)


def q1(streams: Streams) -> DataStream:
    return streams.of("bids", PLAIN_BID).map(in_euros, streams.result)


def q2(streams: Streams) -> DataStream:
    return streams.of("bids", "auction, price").filter(lambda bid: bid[0] % 123 == 0)


class Lookup(MapFunction):
    """Adds the value of the side input."""

    def __init__(self, path: str) -> None:
        self._path = path

    def open(self, runtime_context: RuntimeContext) -> None:
        self._values = read_side_input(self._path)

    def map(self, value: Row) -> Row:
        auction, bidder, price, time = value
        return Row(auction, bidder, price, time, self._values[auction % SIDE_INPUT_KEYS])


def q13(streams: Streams) -> DataStream:
    bids = streams.of("bids", "auction, bidder, price, `dateTime`")
    return bids.map(Lookup(streams.side_input), streams.result)


def described(bid: Row) -> Row:
    auction, bidder, price, time, extra = bid
    return Row(auction, bidder, price * RATE, part_of_day(time), time, extra, extra.count("c"))


def q14(streams: Streams) -> DataStream:
    in_range = "0.908 * price > 1000000 AND 0.908 * price < 50000000"
    return streams.of("bids", PLAIN_BID, in_range).map(described, streams.result)


class AddChannelId(FlatMapFunction):
    """Bids with an id of their channel."""

    def flat_map(self, value: Row) -> Iterable[Row]:
        auction, bidder, price, channel, url = value
        channel_id = channel_id_of(channel, url)
        if channel_id is not None:
            yield Row(auction, bidder, price, channel, channel_id)


def q21(streams: Streams) -> DataStream:
    return streams.of("bids", "auction, bidder, price, channel, url").flat_map(AddChannelId(), streams.result)


def with_folders(bid: Row) -> Row:
    auction, bidder, price, channel, url = bid
    parts = url.split("/")
    return Row(auction, bidder, price, channel, parts[3], parts[4], parts[5])


def q22(streams: Streams) -> DataStream:
    return streams.of("bids", "auction, bidder, price, channel, url").map(with_folders, streams.result)
