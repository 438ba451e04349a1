"""Two streams that one operator reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.datastream.arguments import check_instance, refuse
from penstock.datastream.output_types import (
    BROADCAST_PROCESS,
    CO_FLAT_MAP,
    CO_MAP,
    CO_PROCESS,
    ResolvedType,
    TypeHint,
    output_type_of,
)
from penstock.functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeySelector,
)
from penstock.plan.nodes import BroadcastProcessNode, CoProcessNode
from penstock.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream

KeyHint = Callable[[Any], Any] | KeySelector | str | int | Sequence[str | int]


class ConnectedStreams:
    """Two streams, of different types perhaps, into one operator that can share state between them."""

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    @property
    def is_keyed(self) -> bool:
        """Whether both streams are partitioned by key."""
        return self.stream1.is_keyed and self.stream2.is_keyed

    def key_by(self, key_selector1: KeyHint, key_selector2: KeyHint, key_type: TypeHint = None) -> ConnectedStreams:
        """Partitions both streams by key, so that records with equal keys meet."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type)
        )

    def map(self, func: CoMapFunction, output_type: TypeHint = None) -> DataStream:
        """Turns each record of either stream into at most one other: None means none."""
        check_instance("map", "func", func, (CoMapFunction,), "a CoMapFunction")
        return self._transform("Co-Map", func, output_type_of("map", func, output_type, CO_MAP))

    def flat_map(self, func: CoFlatMapFunction, output_type: TypeHint = None) -> DataStream:
        """Turns each record of either stream into any number of others."""
        check_instance("flat_map", "func", func, (CoFlatMapFunction,), "a CoFlatMapFunction")
        return self._transform("Co-Flat Map", func, output_type_of("flat_map", func, output_type, CO_FLAT_MAP))

    def process(self, func: CoProcessFunction | KeyedCoProcessFunction, output_type: TypeHint = None) -> DataStream:
        """Hands each record to the function's method for its stream; on keyed streams with state and timers."""
        check_instance(
            "process",
            "func",
            func,
            (CoProcessFunction, KeyedCoProcessFunction),
            "a CoProcessFunction or KeyedCoProcessFunction",
        )
        if isinstance(func, KeyedCoProcessFunction) and not self.is_keyed:
            raise refuse(
                f"process: {type(func).__name__} is a KeyedCoProcessFunction, and the connected streams are not keyed; "
                "call `key_by(selector1, selector2)` first"
            )
        resolved = output_type_of("process", func, output_type, CO_PROCESS)
        return self._transform("Keyed Co-Process" if self.is_keyed else "Co-Process", func, resolved)

    def _transform(self, name: str, func: Any, resolved: ResolvedType) -> DataStream:
        return self.stream1.program.transform(
            CoProcessNode,
            name,
            (self.stream1.upstreams, self.stream2.upstreams),
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            emits_side_outputs=isinstance(func, CoProcessFunction | KeyedCoProcessFunction),
            function=func,
            keyed=self.is_keyed,
        )

    def __repr__(self) -> str:
        return f"<ConnectedStreams of {self.stream1!r} and {self.stream2!r}>"


class BroadcastStream:
    """A stream that every subtask sees whole, with the broadcast states to keep it in. Made for `connect`."""

    def __init__(self, input_stream: DataStream, broadcast_state_descriptors: list[MapStateDescriptor]) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors

    def __repr__(self) -> str:
        names = ", ".join(repr(descriptor.name) for descriptor in self.broadcast_state_descriptors)
        return f"<BroadcastStream of {self.input_stream!r} for {names}>"


class BroadcastConnectedStream:
    """A stream, keyed or not, connected with a broadcast stream."""

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: list[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors

    def process(
        self,
        func: BroadcastProcessFunction[Any, Any, Any] | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: TypeHint = None,
    ) -> DataStream:
        """Hands each record to the function's method for its stream."""
        keyed = self.non_broadcast_stream.is_keyed
        expected = KeyedBroadcastProcessFunction if keyed else BroadcastProcessFunction
        check_instance(
            "process",
            "func",
            func,
            (expected,),
            f"a {expected.__name__}, because the stream is {'keyed' if keyed else 'not keyed'}",
        )
        name = "Keyed-Co-Process-Broadcast" if keyed else "Co-Process-Broadcast"
        resolved = output_type_of("process", func, output_type, BROADCAST_PROCESS)
        return self.non_broadcast_stream.program.transform(
            BroadcastProcessNode,
            name,
            (self.non_broadcast_stream.upstreams, self.broadcast_stream.input_stream.upstreams),
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            emits_side_outputs=True,
            function=func,
            keyed=keyed,
            state_descriptors=tuple(self.broadcast_state_descriptors),
        )

    def __repr__(self) -> str:
        return f"<BroadcastConnectedStream of {self.non_broadcast_stream!r} and {self.broadcast_stream!r}>"
