"""The base classes of user functions."""

from penstock.functions.aggregation import AggregateFunction, ReduceFunction
from penstock.functions.async_function import AsyncFunction
from penstock.functions.async_retry import AsyncRetryPredicate, AsyncRetryStrategy
from penstock.functions.batches import KeyedBatchContext, KeyedCoBatchFunction
from penstock.functions.broadcast import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from penstock.functions.co_process import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.functions.combinable_mark import combinable
from penstock.functions.distributed_cache import DistributedCache
from penstock.functions.function import Function, KeyedStateStore, RuntimeContext
from penstock.functions.join import CoGroupFunction, FlatJoinFunction, JoinFunction, ProcessJoinFunction
from penstock.functions.join_kind import JoinKind
from penstock.functions.output_tag import OutputTag
from penstock.functions.partitioning import KeySelector, NullByteKeySelector, Partitioner
from penstock.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.functions.single_record import FilterFunction, FlatMapFunction, MapFunction
from penstock.functions.sink_function import RichSinkFunction, SinkContext, SinkFunction
from penstock.functions.source_function import (
    CheckpointedSourceFunction,
    RichSourceFunction,
    SourceContext,
    SourceFunction,
)
from penstock.functions.tagged_union import TaggedUnion
from penstock.functions.timer_service import TimeDomain, TimerService
from penstock.functions.window import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CheckpointedFunction",
    "CheckpointedSourceFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "DistributedCache",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "JoinFunction",
    "JoinKind",
    "KeySelector",
    "KeyedBatchContext",
    "KeyedBroadcastProcessFunction",
    "KeyedCoBatchFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "NullByteKeySelector",
    "OutputTag",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RichSinkFunction",
    "RichSourceFunction",
    "RuntimeContext",
    "SinkContext",
    "SinkFunction",
    "SourceContext",
    "SourceFunction",
    "TaggedUnion",
    "TimeDomain",
    "TimerService",
    "WindowFunction",
    "combinable",
]
