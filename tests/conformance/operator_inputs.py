"""What the programs of `operators.py` read."""

from __future__ import annotations

from typing import Any

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from penstock.datastream.functions import AggregateFunction

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
# Seven keys that come again in every epoch; times that rise, with every fifth record a little late.
RECORDS = [(f"k{n % 7}", n * 10 - (25 if n % 5 == 0 else 0)) for n in range(3, 51)]
OTHERS = [(f"k{n % 5}", n * 7) for n in range(4, 28)]


def records(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(RECORDS, PAIR)


def keyed(env: StreamExecutionEnvironment) -> KeyedStream:
    return records(env).key_by(lambda pair: pair[0], Types.STRING())


def timed(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda pair, _: pair[1]))


def timed_and_keyed(env: StreamExecutionEnvironment) -> KeyedStream:
    return timed(records(env)).key_by(lambda pair: pair[0], Types.STRING())


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        number = value if isinstance(value, int) else value[1]
        return accumulator[0] + number, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
