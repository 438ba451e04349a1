"""A stream of records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from penstock.common.typeinfo import TypeInformation
from penstock.connectors.function_sink import FunctionSink
from penstock.connectors.print_sink import PrintSink
from penstock.connectors.sink import Sink
from penstock.datastream.arguments import (
    check_function,
    check_instance,
    check_max_parallelism,
    check_text,
    describe,
    refuse,
    refuse_argument,
)
from penstock.datastream.keys import hash_exchange, key_selector_of, partitioner_of
from penstock.datastream.output_types import (
    FLAT_MAP,
    MAP,
    PROCESS,
    ResolvedType,
    TypeHint,
    output_type_of,
    united_type,
)
from penstock.datastream.streams.closeable_iterator import CloseableIterator
from penstock.datastream.streams.collecting import collect
from penstock.datastream.streams.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from penstock.datastream.streams.data_stream_sink import DataStreamSink
from penstock.datastream.streams.operator_settings import OperatorSettings
from penstock.datastream.transformation import Transformation, Upstream
from penstock.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
)
from penstock.functions.output_tag import OutputTag
from penstock.plan.nodes import (
    FORWARD,
    Chaining,
    Exchange,
    ExchangeKind,
    RecordFunctionKind,
    StatelessNode,
)
from penstock.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.datastream.program import Program
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.datastream.streams.keyed_stream import KeyedStream


class DataStream(OperatorSettings):
    """Records of one type, and what can be done with them. Nothing runs before `env.execute()`."""

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

    def get_name(self) -> str:
        """The name of the operator behind the stream."""
        return self.operator("get_name").name

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        """Sets the number of key groups: the upper bound of any later parallelism of the operator."""
        operator = self.operator("set_max_parallelism")
        operator.max_parallelism = check_max_parallelism("set_max_parallelism", max_parallelism)
        return self

    def start_new_chain(self) -> DataStream:
        """Lets the operator start a chain, instead of joining that of its input."""
        self.operator("start_new_chain").chaining = Chaining.HEAD
        return self

    def get_type(self) -> TypeInformation:
        """The type of the records."""
        return united_type("get_type", self.upstreams).type_info

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self.program.environment

    def __repr__(self) -> str:
        made_by = " and ".join(repr(upstream.transformation.name) for upstream in self.upstreams)
        return f"<{type(self).__name__} of {self.get_type()!r} from {made_by}>"

    # --- one record at a time

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: TypeHint = None) -> DataStream:
        """Turns each record into exactly one other.

        The type of the results is `output_type`, or what the function's annotations say, or any Python object.
        """
        check_function("map", func, MapFunction, "a function of one record or a MapFunction")
        return self._stateless("Map", RecordFunctionKind.MAP, func, output_type_of("map", func, output_type, MAP))

    def flat_map(self, func: Callable[[Any], Any] | FlatMapFunction, output_type: TypeHint = None) -> DataStream:
        """Turns each record into any number of others: what the function returns is iterated over."""
        check_function("flat_map", func, FlatMapFunction, "a function of one record or a FlatMapFunction")
        resolved = output_type_of("flat_map", func, output_type, FLAT_MAP)
        return self._stateless("FlatMap", RecordFunctionKind.FLAT_MAP, func, resolved)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keeps the records for which the function returns True."""
        check_function("filter", func, FilterFunction, "a function of one record or a FilterFunction")
        return self._stateless("Filter", RecordFunctionKind.FILTER, func, united_type("filter", self.upstreams))

    def process(self, func: ProcessFunction | Callable[[Any, Any], Any], output_type: TypeHint = None) -> DataStream:
        """Hands each record to a `ProcessFunction`, which may emit any number of records and side outputs."""
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

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The records that the operator emits under this tag."""
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

    # --- several streams

    def union(self, *streams: DataStream) -> DataStream:
        """One stream of the records of several. The order between them is not defined."""
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
        """Two streams into one operator, which sees which of them a record came from."""
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

    # --- partitioning

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector | str | int | Sequence[str | int],
        key_type: TypeHint = None,
    ) -> KeyedStream:
        """Partitions by key: by a function of the record, a field (`"card"`), or several (`["country", "card"]`)."""
        return self.program.keyed_stream(self, hash_exchange("key_by", key_selector, key_type, self.get_type()))

    def rebalance(self) -> DataStream:
        """Spreads the records evenly over the subtasks of the next operator."""
        return self._partitioned(Exchange(ExchangeKind.REBALANCE))

    def rescale(self) -> DataStream:
        """Spreads the records of each subtask over its own share of the next operator's subtasks."""
        return self._partitioned(Exchange(ExchangeKind.RESCALE))

    def shuffle(self) -> DataStream:
        """Sends each record to a random subtask of the next operator."""
        return self._partitioned(Exchange(ExchangeKind.SHUFFLE))

    def forward(self) -> DataStream:
        """Keeps the records in their subtask; the next operator must have the same parallelism."""
        return self._partitioned(FORWARD)

    def global_(self) -> DataStream:
        """Sends all records to the first subtask of the next operator."""
        return self._partitioned(Exchange(ExchangeKind.GLOBAL))

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Sends every record to all subtasks of the next operator.

        With state descriptors the result is made for `connect`: its records can be kept in those broadcast states.
        """
        stream = self._partitioned(Exchange(ExchangeKind.BROADCAST))
        if broadcast_state_descriptor is None:
            return stream
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        for descriptor in descriptors:
            check_instance(
                "broadcast", "broadcast_state_descriptor", descriptor, (MapStateDescriptor,), "a MapStateDescriptor"
            )
        return BroadcastStream(stream, list(descriptors))

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector | str | int,
    ) -> DataStream:
        """Sends each record to the subtask that `partitioner(key, number of subtasks)` names."""
        return self._partitioned(
            Exchange(
                ExchangeKind.CUSTOM,
                key_selector=key_selector_of("partition_custom", key_selector, self.get_type()),
                partitioner=partitioner_of("partition_custom", partitioner),
            )
        )

    def _partitioned(self, exchange: Exchange) -> DataStream:
        return self.program.data_stream(
            tuple(dataclasses.replace(upstream, exchange=exchange) for upstream in self.upstreams)
        )

    # --- the end of a stream

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Writes the records to a sink."""
        check_instance("sink_to", "sink", sink, (Sink,), "a sink; for a function use `add_sink`")
        return self.program.sink(sink, "Sink", self.upstreams, self.get_type())

    def add_sink(self, sink_func: Callable[[Any], object] | Sink) -> DataStreamSink:
        """Calls a function with every record: at least once per record when the job is restarted."""
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        if sink_func is None or not callable(sink_func):
            raise refuse_argument("add_sink", "sink_func", sink_func, "a function of one record")
        return self.program.sink(FunctionSink(sink_func), "Sink", self.upstreams, self.get_type())

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints every record, with the identifier before it."""
        if sink_identifier is not None:
            check_text("print", "sink_identifier", sink_identifier)
        record_type, is_declared = united_type("print", self.upstreams)
        sink = PrintSink(sink_identifier, type_is_declared=is_declared)
        return self.program.sink(sink, "Print to Std. Out", self.upstreams, record_type)

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, limit: None = None) -> CloseableIterator: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Runs the job and iterates over the records of this stream; with a limit, a list of that many at most."""
        if limit is not None and limit < 1:
            raise refuse(f"execute_and_collect: `limit` is {describe(limit)}; expected a number from 1")
        records = collect(self, job_execution_name)
        if limit is None:
            return records
        with records:
            return [record for _, record in zip(range(limit), records, strict=False)]
