"""Two streams that one operator reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.datastream.arguments import check_instance, refuse
from penstock.datastream.batch_functions import co_process_batches
from penstock.datastream.join_keys import exchanged, key_exchange, unified_keys
from penstock.datastream.output_types import (
    BROADCAST_PROCESS,
    CO_FLAT_MAP,
    CO_MAP,
    CO_PROCESS,
    ResolvedType,
    TypeHint,
    output_type_of,
)
from penstock.expressions import Expression
from penstock.functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeySelector,
)
from penstock.functions.batches import KeyedCoBatchFunction
from penstock.plan.nodes import BroadcastProcessNode, CoProcessNode
from penstock.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream

KeyHint = Callable[[Any], Any] | KeySelector | str | int | Expression | Sequence[str | int | Expression]


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
        """Partitions both streams by key, so that records with equal keys meet.

        >>> names, ages = env.from_collection([("a", "Ann")]), env.from_collection([("a", 42)])
        >>> names.connect(ages).key_by(0, 0).is_keyed
        True
        """
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type)
        )

    def map(self, func: CoMapFunction, output_type: TypeHint = None) -> DataStream:
        """Turns each record of either stream into at most one other: None means none.

        >>> class Both(CoMapFunction):
        ...     def map1(self, value):
        ...         return f"number {value}"
        ...
        ...     def map2(self, value):
        ...         return f"text {value}"
        >>> both = env.from_collection([1]).connect(env.from_collection(["a"])).map(Both())
        >>> sorted(both.execute_and_collect())
        ['number 1', 'text a']
        """
        check_instance("map", "func", func, (CoMapFunction,), "a CoMapFunction")
        return self._transform("map", "Co-Map", func, output_type_of("map", func, output_type, CO_MAP))

    def flat_map(self, func: CoFlatMapFunction, output_type: TypeHint = None) -> DataStream:
        """Turns each record of either stream into any number of others.

        >>> class Both(CoFlatMapFunction):
        ...     def flat_map1(self, value):
        ...         return range(value)
        ...
        ...     def flat_map2(self, value):
        ...         return map(int, value.split())
        >>> both = env.from_collection([2]).connect(env.from_collection(["8 9"])).flat_map(Both())
        >>> sorted(both.execute_and_collect())
        [0, 1, 8, 9]
        """
        check_instance("flat_map", "func", func, (CoFlatMapFunction,), "a CoFlatMapFunction")
        resolved = output_type_of("flat_map", func, output_type, CO_FLAT_MAP)
        return self._transform("flat_map", "Co-Flat Map", func, resolved)

    def process(self, func: CoProcessFunction | KeyedCoProcessFunction, output_type: TypeHint = None) -> DataStream:
        """Hands each record to the function's method for its stream; on keyed streams with state and timers.

        >>> class Match(KeyedCoProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        ...         self.age = runtime_context.get_state(ValueStateDescriptor("age", Types.LONG()))
        ...
        ...     def process_element1(self, value, ctx):
        ...         self.name.update(value[1])
        ...         return self.matched()
        ...
        ...     def process_element2(self, value, ctx):
        ...         self.age.update(value[1])
        ...         return self.matched()
        ...
        ...     def matched(self):
        ...         if self.name.value() and self.age.value():
        ...             yield self.name.value(), self.age.value()
        >>> names, ages = env.from_collection([("a", "Ann")]), env.from_collection([("a", 42)])
        >>> list(names.connect(ages).key_by(0, 0).process(Match()).execute_and_collect())
        [('Ann', 42)]
        """
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
        return self._transform("process", "Keyed Co-Process" if self.is_keyed else "Co-Process", func, resolved)

    def process_batches(
        self,
        func: KeyedCoBatchFunction,
        output_type: TypeHint,
        format: str = "arrow",  # noqa: A002 (what users of other libraries know it by)
        *,
        timestamp_column: str | None = None,
    ) -> DataStream:
        """Hands the records of an epoch to the function's methods, all keys of the subtask at once.

        Records, formats and state are as in `KeyedStream.process_batches`. Of the records that have come, those of the
        first stream are handed over first.

        >>> import pyarrow as pa
        >>> class Named(KeyedCoBatchFunction):
        ...     def open(self, runtime_context):
        ...         self.names = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        ...
        ...     def process_batch1(self, batch, ctx):
        ...         self.names.put_many(ctx.keys, batch["f1"])
        ...
        ...     def process_batch2(self, batch, ctx):
        ...         return pa.record_batch({"f0": self.names.get_many(ctx.keys), "f1": batch["f1"]})
        >>> names, ages = env.from_collection([("a", "Ann")]), env.from_collection([("a", 42)])
        >>> pair = Types.TUPLE([Types.STRING(), Types.LONG()])
        >>> named = names.connect(ages).key_by(0, 0).process_batches(Named(), pair)
        >>> list(named.execute_and_collect())
        [('Ann', 42)]
        """
        return co_process_batches(self, func, output_type, format, timestamp_column)

    def _transform(self, method: str, name: str, func: Any, resolved: ResolvedType) -> DataStream:
        inputs = self.stream1.upstreams, self.stream2.upstreams
        if self.is_keyed:
            first, second = unified_keys(
                method,
                key_exchange(method, "the first stream", self.stream1),
                key_exchange(method, "the second stream", self.stream2),
            )
            inputs = exchanged(self.stream1, first), exchanged(self.stream2, second)
        return self.stream1.program.transform(
            CoProcessNode,
            name,
            inputs,
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
        """Hands each record to the function's method for its stream.

        >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
        >>> class Limited(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         if value <= (ctx.get_broadcast_state(limits).get("most") or 10):
        ...             yield value
        ...
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(limits).put(*value)
        >>> rules = env.from_collection([("most", 10)]).broadcast(limits)
        >>> list(env.from_collection([7, 70]).connect(rules).process(Limited()).execute_and_collect())
        [7]
        """
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
