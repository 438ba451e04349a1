"""The base classes of user functions."""

from penstock.functions.aggregation import AggregateFunction, ReduceFunction
from penstock.functions.broadcast import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.functions.co_process import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.functions.function import Function, KeyedStateStore, RuntimeContext
from penstock.functions.output_tag import OutputTag
from penstock.functions.partitioning import KeySelector, NullByteKeySelector, Partitioner
from penstock.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.functions.single_record import FilterFunction, FlatMapFunction, MapFunction
from penstock.functions.timer_service import TimeDomain, TimerService

__all__ = [
    "AggregateFunction",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "NullByteKeySelector",
    "OutputTag",
    "Partitioner",
    "ProcessFunction",
    "ReduceFunction",
    "RuntimeContext",
    "TimeDomain",
    "TimerService",
]
