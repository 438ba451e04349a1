"""A stream of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from penstock.common.execution_config import ExecutionConfig
from penstock.common.typeinfo import TypeInformation
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.function_sink import FunctionSink
from penstock.connectors.print_sink import PrintSink
from penstock.connectors.sink import Sink
from penstock.datastream.arguments import (
    check_function,
    check_instance,
    check_not_a_class,
    check_runs_when_called,
    check_text,
    check_watermark_strategy,
    describe,
    refuse,
    refuse_argument,
)
from penstock.datastream.display import stream_html
from penstock.datastream.expression_arguments import (
    FlatMapHint,
    MapHint,
    filter_by,
    flat_map_by,
    is_expression,
    map_by,
    select_from,
    strategy_for_type,
)
from penstock.datastream.output_types import (
    FLAT_MAP,
    MAP,
    PROCESS,
    ResolvedType,
    TypeHint,
    output_type_of,
    united_type,
)
from penstock.datastream.projection import projection_of
from penstock.datastream.streams.batching import BatchingStream
from penstock.datastream.streams.closeable_iterator import CloseableIterator
from penstock.datastream.streams.collecting import collect
from penstock.datastream.streams.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from penstock.datastream.streams.data_stream_sink import DataStreamSink
from penstock.datastream.streams.joining import JoiningStream
from penstock.datastream.streams.operator_settings import StreamSettings
from penstock.datastream.streams.partitioning import PartitioningStream
from penstock.datastream.streams.windowed_stream import AllWindowedStream, WindowedStream
from penstock.datastream.transformation import Transformation, Upstream
from penstock.expressions import Expression
from penstock.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    SinkFunction,
)
from penstock.functions.output_tag import OutputTag
from penstock.plan.nodes import RecordFunctionKind, StatelessNode, TimestampsAndWatermarksNode
from penstock.windows import CountSlidingWindowAssigner, CountTumblingWindowAssigner, WindowAssigner

if TYPE_CHECKING:
    from penstock.datastream.program import Program
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.datastream.streams.cached_stream import CachedDataStream


class DataStream(BatchingStream, JoiningStream, PartitioningStream, StreamSettings):
    """Records of one type, and what can be done with them. Nothing runs before `env.execute()`.

    >>> env.from_sequence(1, 6).filter(lambda n: n % 2).name("odd").rebalance().map(lambda n: n * n)
    <DataStream of PickledByteArrayTypeInfo from 'Map'>
    """

    is_keyed = False

    def __init__(self, program: Program, upstreams: tuple[Upstream, ...]) -> None:
        self.program = program
        self.upstreams = upstreams
        """Where the records come from: several places after `union`."""

    # --- the operator behind the stream

    def operator(self, method: str) -> Transformation:  # noqa: D102
        upstream, *others = self.upstreams
        if others:
            raise refuse(f"{method}: a union is not an operator; call `{method}` on one of the united streams")
        if upstream.exchange is not None:
            raise refuse(
                f"{method}: {upstream.exchange.kind.value} partitioning is not an operator; call `{method}` before it, "
                "or on the operator that comes next"
            )
        if upstream.side_output is not None:
            raise refuse(
                f"{method}: the side output '{upstream.side_output}' is not an operator; call `{method}` on "
                f"'{upstream.transformation.name}', which emits it"
            )
        return upstream.transformation

    def get_type(self) -> TypeInformation:
        """The type of the records.

        >>> env.from_collection([("visa", 2.5)]).get_type()
        TupleTypeInfo(String, Double)
        """
        return united_type("get_type", self.upstreams).type_info

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to.

        >>> env.from_collection([1]).get_execution_environment() is env
        True
        """
        return self.program.environment

    def get_execution_config(self) -> ExecutionConfig:
        """The settings of that environment.

        >>> env.from_collection([1]).get_execution_config().get_parallelism()
        1
        """
        return self.program.environment.get_config()

    def __repr__(self) -> str:
        made_by = " and ".join(repr(upstream.transformation.name) for upstream in self.upstreams)
        return f"<{type(self).__name__} of {self.get_type()!r} from {made_by}>"

    def _repr_html_(self) -> str:
        return stream_html(self)

    # --- one record at a time

    def map(self, func: MapHint, output_type: TypeHint = None) -> DataStream:
        """Turns each record into exactly one other.

        The type of the results is `output_type`, or what annotations or the expression say, or any Python object.

        >>> list(env.from_collection([1, 2]).map(lambda n: n / 2, Types.DOUBLE()).execute_and_collect())
        [0.5, 1.0]
        """
        if is_expression(func):
            return map_by(self, "map", func, output_type)
        check_function("map", func, MapFunction, "a function of one record or a MapFunction, or an expression")
        return self._stateless("Map", RecordFunctionKind.MAP, func, output_type_of("map", func, output_type, MAP))

    def flat_map(self, func: FlatMapHint, output_type: TypeHint = None) -> DataStream:
        """Turns each record into any number of others: what the function returns is iterated over.

        In the place of a function, `explode(...)` makes a record of each element of a list.

        >>> list(env.from_collection(["to be", "or not"]).flat_map(str.split).execute_and_collect())
        ['to', 'be', 'or', 'not']
        """
        if is_expression(func):
            return flat_map_by(self, func, output_type)
        check_function("flat_map", func, FlatMapFunction, "a function of one record or a FlatMapFunction")
        resolved = output_type_of("flat_map", func, output_type, FLAT_MAP)
        return self._stateless("FlatMap", RecordFunctionKind.FLAT_MAP, func, resolved)

    def filter(self, func: Callable[[Any], bool] | FilterFunction | Expression) -> DataStream:
        """Keeps the records for which the function returns True, or an expression is true.

        >>> list(env.from_sequence(1, 6).filter(lambda n: n % 2 == 0).execute_and_collect())
        [2, 4, 6]
        """
        if isinstance(func, Expression):
            return filter_by(self, func)
        check_function("filter", func, FilterFunction, "a function of one record or a FilterFunction, or an expression")
        return self._stateless("Filter", RecordFunctionKind.FILTER, func, united_type("filter", self.upstreams))

    def process(self, func: ProcessFunction | Callable[[Any, Any], Any], output_type: TypeHint = None) -> DataStream:
        """Hands each record to a `ProcessFunction`, which may emit any number of records and side outputs.

        >>> list(env.from_collection([3, 0, 2]).process(lambda n, ctx: range(n)).execute_and_collect())
        [0, 1, 2, 0, 1]
        """
        if isinstance(func, KeyedProcessFunction):
            raise refuse_argument(
                "process", "func", func, "a ProcessFunction; for a KeyedProcessFunction call `key_by(...)` first"
            )
        check_function("process", func, ProcessFunction, "a ProcessFunction or a function of a record and a context")
        resolved = output_type_of("process", func, output_type, PROCESS)
        return self._stateless("PROCESS", RecordFunctionKind.PROCESS, func, resolved)

    def _stateless(self, name: str, kind: RecordFunctionKind, func: Any, resolved: ResolvedType) -> DataStream:
        return self.program.transform(
            StatelessNode,
            name,
            (self.upstreams,),
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            emits_side_outputs=kind is RecordFunctionKind.PROCESS,
            function=func,
            function_kind=kind,
        )

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Gives the records new timestamps and makes watermarks of them; better done by the source where it can.

        >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness("5 s")
        >>> timed = env.from_collection([("a", 1_000), ("b", 2_000)]).assign_timestamps_and_watermarks(
        ...     strategy.with_timestamp_assigner(lambda event, _: event[1])
        ... )
        >>> list(timed.process(lambda event, ctx: [(event[0], ctx.timestamp())]).execute_and_collect())
        [('a', 1000), ('b', 2000)]
        """
        check_watermark_strategy("assign_timestamps_and_watermarks", watermark_strategy)
        record_type, is_declared = united_type("assign_timestamps_and_watermarks", self.upstreams)
        strategy = strategy_for_type("assign_timestamps_and_watermarks", watermark_strategy, record_type)
        return self.program.transform(
            TimestampsAndWatermarksNode,
            "Timestamps/Watermarks",
            (self.upstreams,),
            record_type,
            type_is_declared=is_declared,
            watermark_strategy=strategy,
        )

    def project(self, *field_indexes: int | str) -> DataStream:
        """Keeps some fields of tuples or rows, in the order given: by number from 0, or by name.

        >>> list(env.from_collection([("visa", 17, 2.5)]).project(2, 0).execute_and_collect())
        [(2.5, 'visa')]
        """
        projection, output_type = projection_of(self.get_type(), field_indexes)
        return self._stateless("Projection", RecordFunctionKind.MAP, projection, ResolvedType(output_type, True))

    def cache(self) -> CachedDataStream:
        """Keeps the records that the next job makes of this stream; later jobs of the environment read those.

        The stream must end. `env.close()` drops the records.

        >>> squares = env.from_collection([1, 2, 3]).map(lambda n: n * n).cache()
        >>> list(squares.execute_and_collect())
        [1, 4, 9]
        >>> list(squares.map(lambda n: -n).execute_and_collect())  # of the records that were kept
        [-1, -4, -9]
        >>> env.close()
        """
        return self.program.cached_stream(self)

    def select(self, *fields: Expression | str, **named: Any) -> DataStream:
        """Rows of some fields and of values computed from them, named by alias or by keyword.

        >>> from penstock.expressions import col
        >>> list(env.from_collection([("visa", 2.5)]).select("f0", gross=col("f1") * 2).execute_and_collect())
        [Row(f0='visa', gross=5.0)]
        """
        return select_from(self, fields, named)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The records that the operator emits under this tag.

        >>> odd = OutputTag("odd", Types.LONG())
        >>> numbers = env.from_collection([1, 2, 3]).process(lambda n, ctx: [(odd, n) if n % 2 else n])
        >>> list(numbers.get_side_output(odd).execute_and_collect())
        [1, 3]
        """
        check_instance("get_side_output", "output_tag", output_tag, (OutputTag,), "an OutputTag")
        operator = self.operator("get_side_output")
        if not operator.emits_side_outputs:
            raise refuse(
                f"get_side_output: '{operator.name}' has no side outputs; only process functions emit them. "
                "Call it on the stream that `process(...)` returned"
            )
        tag, tag_type = output_tag.tag_id, output_tag.type_info
        known = operator.side_outputs.setdefault(tag, tag_type)
        if known != tag_type:
            raise refuse(f"get_side_output: the tag '{tag}' has the type {known!r} elsewhere, and {tag_type!r} here")
        return self.program.data_stream((Upstream(operator, tag),))

    # --- windows

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Refused: windows of keys need keys."""
        raise refuse(
            f"window: the stream has no keys, and {window_assigner!r} cuts the records of each key into windows; call "
            "`key_by(...)` first, or `window_all(...)` for windows of all records"
        )

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Refused: windows of keys need keys."""
        raise refuse(
            "count_window: the stream has no keys; call `key_by(...)` first, or `count_window_all(...)` for windows "
            "of all records"
        )

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Cuts the whole stream into windows, in one subtask.

        >>> from penstock.datastream.window import TumblingEventTimeWindows
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1, 2, 12]).assign_timestamps_and_watermarks(strategy)
        >>> sums = numbers.window_all(TumblingEventTimeWindows.of("10 ms")).reduce(lambda a, b: a + b)
        >>> list(sums.execute_and_collect())
        [3, 12]
        """
        return AllWindowedStream("window_all", self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Windows of `size` records of the whole stream, of which one begins every `slide` records.

        >>> list(env.from_sequence(1, 5).count_window_all(2).reduce(lambda a, b: a + b).execute_and_collect())
        [3, 7]
        """
        return AllWindowedStream("count_window_all", self, count_windows(size, slide))

    # --- several streams

    def union(self, *streams: DataStream) -> DataStream:
        """One stream of the records of several. The order between them is not defined.

        >>> sorted(env.from_collection([1, 3]).union(env.from_collection([2])).execute_and_collect())
        [1, 2, 3]
        """
        for stream in streams:
            self._check_other("union", stream)
        upstreams = (*self.upstreams, *(upstream for stream in streams for upstream in stream.upstreams))
        united_type("union", upstreams)
        return self.program.data_stream(upstreams)

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """Two streams into one operator, which sees which of them a record came from.

        >>> env.from_collection([1]).connect(env.from_collection(["a"]))
        <ConnectedStreams of <DataStream of Long from 'Collection Source'> and <DataStream of String from ...>>
        """
        if isinstance(ds, BroadcastStream):
            self._check_other("connect", ds.input_stream)
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        self._check_other("connect", ds)
        return ConnectedStreams(self, ds)

    def _check_other(self, method: str, stream: object) -> None:
        if not isinstance(stream, DataStream):
            raise refuse_argument(method, "stream", stream, "a stream of this environment")
        if stream.program is not self.program:
            raise refuse(
                f"{method}: the streams belong to two environments ({self!r} and {stream!r}); "
                "one job has one environment"
            )

    # --- the end of a stream

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Writes the records to a sink.

        >>> from pathlib import Path
        >>> from penstock.datastream.connectors.file_system import FileSink
        >>> sink = env.from_collection(["to be", "or not"]).sink_to(FileSink("written", "text"))
        >>> done = env.execute()
        >>> [line for file in Path("written").glob("*.txt") for line in file.read_text().splitlines()]
        ['to be', 'or not']
        """
        check_instance("sink_to", "sink", sink, (Sink,), "a sink; for a function use `add_sink`")
        return self.program.sink(sink, "Sink", self.upstreams, self.get_type())

    def add_sink(self, sink_func: SinkFunction | Callable[[Any], object] | Sink) -> DataStreamSink:
        """Calls a function, or `invoke` of a `SinkFunction`, with every record: at least once after failures.

        >>> sink = env.from_collection([1, 2]).add_sink(lambda n: print("got", n))
        >>> done = env.execute()
        got 1
        got 2
        """
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        check_not_a_class("add_sink", "sink_func", sink_func, (Sink, Function))
        if isinstance(sink_func, SinkFunction):
            called = sink_func.invoke
        elif isinstance(sink_func, Function) or not callable(sink_func):
            raise refuse_argument("add_sink", "sink_func", sink_func, "a SinkFunction or a function of one record")
        else:
            called = sink_func
        check_runs_when_called("add_sink", called, "only calls it: nothing of it would run")
        return self.program.sink(FunctionSink(sink_func), "Sink", self.upstreams, self.get_type())

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints every record, with the identifier before it.

        >>> sink = env.from_collection(["a", "b"]).print("letters")
        >>> done = env.execute()
        letters> a
        letters> b
        """
        if sink_identifier is not None:
            check_text("print", "sink_identifier", sink_identifier)
        record_type, is_declared = united_type("print", self.upstreams)
        sink = PrintSink(sink_identifier, type_is_declared=is_declared, record_type=record_type)
        return self.program.sink(sink, "Print to Std. Out", self.upstreams, record_type)

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, limit: None = None) -> CloseableIterator: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Runs the job and iterates over the records of this stream; with a limit, a list of that many at most.

        >>> with env.from_sequence(1, 3).execute_and_collect("numbers") as numbers:
        ...     print(sum(numbers))
        6
        >>> env.from_sequence(1, 1_000).execute_and_collect(limit=2)
        [1, 2]
        """
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refuse(f"execute_and_collect: `limit` is {describe(limit)}; expected a number from 1")
        records = collect(self, job_execution_name)
        if limit is None:
            return records
        with records:
            return [record for _, record in zip(range(limit), records, strict=False)]


def count_windows(size: int, slide: int) -> WindowAssigner[Any, Any]:
    """Windows of a number of records; those without a slide do not overlap."""
    return CountSlidingWindowAssigner(size, slide) if slide else CountTumblingWindowAssigner(size)
