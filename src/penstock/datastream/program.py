"""The program so far: the operators since the last `execute`, and the making of streams over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.call_site import capture_call_site
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.sink import Sink
from penstock.datastream.stream_caches import StreamCaches
from penstock.datastream.streams.cached_stream import CachedDataStream, cached
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.streams.data_stream_sink import DataStreamSink
from penstock.datastream.streams.keyed_stream import KeyedStream
from penstock.datastream.transformation import Transformation, Upstream
from penstock.plan.nodes import Exchange, Node, SinkNode

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment


class Program:
    """What an environment has been asked to run. Streams hold it; libraries above extend it through `transform`."""

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self.environment = environment
        self.transformations: list[Transformation] = []
        self.caches = StreamCaches(environment.configuration)

    def transform(
        self,
        node_class: type[Node],
        name: str,
        inputs: tuple[tuple[Upstream, ...], ...],
        output_type: TypeInformation,
        *,
        type_is_declared: bool = False,
        emits_side_outputs: bool = False,
        parallelism_is_fixed: bool = False,
        **arguments: Any,
    ) -> DataStream:
        """Adds an operator and returns the stream of what it emits. `arguments` are the node class's own."""
        transformation = Transformation(
            node_class=node_class,
            name=name,
            arguments=arguments,
            inputs=inputs,
            output_type=output_type,
            type_is_declared=type_is_declared,
            emits_side_outputs=emits_side_outputs,
            parallelism_is_fixed=parallelism_is_fixed,
            call_site=capture_call_site(),
        )
        self.transformations.append(transformation)
        return self.data_stream((Upstream(transformation),))

    def sink(
        self, sink: Sink, name: str, upstreams: tuple[Upstream, ...], record_type: TypeInformation
    ) -> DataStreamSink:
        """Adds a sink at the end of a stream."""
        transformation = Transformation(
            node_class=SinkNode,
            name=name,
            arguments={"sink": sink.for_records(record_type)},
            inputs=(upstreams,),
            output_type=record_type,
            call_site=capture_call_site(),
        )
        self.transformations.append(transformation)
        return DataStreamSink(transformation)

    def data_stream(self, upstreams: tuple[Upstream, ...]) -> DataStream:
        """A stream of what comes from these places."""
        return DataStream(self, upstreams)

    def cached_stream(self, stream: DataStream) -> CachedDataStream:
        """The stream with its records kept for later jobs."""
        return cached(stream)

    def keyed_stream(self, origin: DataStream, exchange: Exchange) -> KeyedStream:
        """The stream, partitioned by key."""
        return KeyedStream(origin, exchange)
