"""A stream whose records are partitioned by key."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.datastream.arguments import check_function, refuse
from penstock.datastream.batch_functions import process_batches
from penstock.datastream.expression_arguments import FlatMapHint, MapHint, is_expression
from penstock.datastream.keys import FieldHint, field_of
from penstock.datastream.output_types import (
    FLAT_MAP,
    MAP,
    PROCESS,
    ResolvedType,
    TypeHint,
    output_type_of,
    reduced_type,
    united_type,
)
from penstock.datastream.streams.connected_streams import KeyHint
from penstock.datastream.streams.data_stream import DataStream, count_windows
from penstock.datastream.streams.windowed_stream import AllWindowedStream, WindowedStream
from penstock.datastream.transformation import Transformation
from penstock.expressions import Expression
from penstock.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.functions.batches import KeyedBatchContext
from penstock.functions.field_aggregation import FieldAggregation, FieldReduceFunction
from penstock.functions.keyed_adapters import (
    KeyedFilterAdapter,
    KeyedFlatMapAdapter,
    KeyedFunctionAdapter,
    KeyedMapAdapter,
)
from penstock.plan.nodes import Exchange, KeyedProcessNode, ReduceNode
from penstock.windows import WindowAssigner

if TYPE_CHECKING:
    from penstock.datastream.program import Program


class KeyedStream(DataStream):
    """A stream partitioned by key: its operators have state and timers for each key."""

    is_keyed = True

    def __init__(self, origin: DataStream, exchange: Exchange) -> None:
        program: Program = origin.program
        super().__init__(
            program, tuple(dataclasses.replace(upstream, exchange=exchange) for upstream in origin.upstreams)
        )
        self._origin = origin

    @property
    def origin(self) -> DataStream:
        """The stream before `key_by`."""
        return self._origin

    def operator(self, method: str) -> Transformation:  # noqa: D102
        raise refuse(
            f"{method}: `key_by` is not an operator; call `{method}` before it, or on the operator that comes next"
        )

    def _partitioned(self, exchange: Exchange) -> DataStream:
        raise refuse(
            f"the stream is partitioned by key; {exchange.kind.value} partitioning would undo it. "
            "Call it before `key_by`, or after the keyed operator"
        )

    def key_by(self, key_selector: KeyHint, key_type: TypeHint = None) -> KeyedStream:
        """Partitions the same records by another key.

        >>> env.from_collection([("visa", 2)]).key_by(0).key_by(1)
        <KeyedStream of TupleTypeInfo(String, Long) from 'Collection Source'>
        """
        return self._origin.key_by(key_selector, key_type)

    def project(self, *field_indexes: int | str) -> DataStream:
        """Keeps some fields; the result is not keyed.

        >>> list(env.from_collection([("a", 2)]).key_by(0).project(1).execute_and_collect())
        [(2,)]
        """
        return self._origin.project(*field_indexes)

    def cache(self) -> NoReturn:
        """Refused: cache the stream before `key_by`."""
        raise refuse("cache: a stream cannot be cached with its keys; call `cache()` before `key_by`")

    def process(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, func: KeyedProcessFunction | Callable[[Any, Any], Any], output_type: TypeHint = None
    ) -> DataStream:
        """Hands each record to a `KeyedProcessFunction`, with the state and the timers of the record's key.

        >>> class Count(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        ...
        ...     def process_element(self, value, ctx):
        ...         self.count.update((self.count.value() or 0) + 1)
        ...         yield ctx.get_current_key(), self.count.value()
        >>> list(env.from_collection(["a", "b", "a"]).key_by(lambda s: s).process(Count()).execute_and_collect())
        [('a', 1), ('b', 1), ('a', 2)]
        """
        if isinstance(func, ProcessFunction):
            raise refuse(
                f"process: {type(func).__name__} is a ProcessFunction; a keyed stream takes a KeyedProcessFunction"
            )
        check_function(
            "process", func, KeyedProcessFunction, "a KeyedProcessFunction or a function of a record and a context"
        )
        return self._keyed("KEYED PROCESS", func, output_type_of("process", func, output_type, PROCESS))

    def process_batches(
        self,
        func: Callable[[Any, KeyedBatchContext], Any],
        output_type: TypeHint = None,
        format: str = "arrow",  # noqa: A002 (what users of other libraries know it by)
        *,
        timestamp_column: str | None = None,
    ) -> DataStream:
        """Hands the records of an epoch to a function, all keys of the subtask at once, with the state of those keys.

        The function gets a batch, as that of `map_batches` does, and a context: the keys of the rows, and state that
        is read and written for many keys in one call. An object with a method `open` may ask for state there. Batches
        end where event time moves on; one has some hundred thousand rows at most. There are no timers.

        >>> import numpy as np
        >>> import pyarrow as pa
        >>> def count(batch, ctx):
        ...     counts = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))
        ...     new = np.bincount(ctx.key_codes) + counts.get_many(ctx.distinct_keys).fill_null(0).to_numpy()
        ...     counts.put_many(ctx.distinct_keys, new)
        ...     return pa.record_batch({"f0": ctx.distinct_keys, "f1": pa.array(new)})
        >>> words = env.from_collection([("a", 1), ("b", 1), ("a", 1)]).key_by(0)
        >>> list(words.process_batches(count).execute_and_collect())
        [('a', 2), ('b', 1)]
        """
        return process_batches(self, func, output_type, format, timestamp_column)

    def map(self, func: MapHint, output_type: TypeHint = None) -> DataStream:
        """Turns each record into exactly one other; a `MapFunction` may use state of the record's key.

        >>> class Numbered(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))
        ...
        ...     def map(self, value):
        ...         self.seen.update((self.seen.value() or 0) + 1)
        ...         return f"{value}{self.seen.value()}"
        >>> list(env.from_collection(["a", "b", "a"]).key_by(lambda s: s).map(Numbered()).execute_and_collect())
        ['a1', 'b1', 'a2']
        """
        if is_expression(func):
            return super().map(func, output_type)
        check_function("map", func, MapFunction, "a function of one record or a MapFunction, or an expression")
        return self._keyed("Map", KeyedMapAdapter(func), output_type_of("map", func, output_type, MAP))

    def flat_map(self, func: FlatMapHint, output_type: TypeHint = None) -> DataStream:
        """Turns each record into any number of others; a `FlatMapFunction` may use state of the record's key.

        >>> list(env.from_collection(["a b", "c"]).key_by(len).flat_map(str.split).execute_and_collect())
        ['a', 'b', 'c']
        """
        if is_expression(func):
            return super().flat_map(func, output_type)
        check_function("flat_map", func, FlatMapFunction, "a function of one record or a FlatMapFunction")
        resolved = output_type_of("flat_map", func, output_type, FLAT_MAP)
        return self._keyed("FlatMap", KeyedFlatMapAdapter(func), resolved)

    def filter(self, func: Callable[[Any], bool] | FilterFunction | Expression) -> DataStream:
        """Keeps records; a `FilterFunction` may use state of the record's key.

        >>> class First(FilterFunction):
        ...     def open(self, runtime_context):
        ...         self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))
        ...
        ...     def filter(self, value):
        ...         is_first = not self.seen.value()
        ...         self.seen.update(True)
        ...         return is_first
        >>> list(env.from_collection(["a", "b", "a"]).key_by(lambda s: s).filter(First()).execute_and_collect())
        ['a', 'b']
        """
        if isinstance(func, Expression):
            return super().filter(func)
        check_function("filter", func, FilterFunction, "a function of one record or a FilterFunction, or an expression")
        return self._keyed("Filter", KeyedFilterAdapter(func), united_type("filter", self.upstreams))

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Combines the records of each key and emits the combination so far after every record.

        In batch execution only the combination of all records of a key is emitted. The same is true of `sum`, `min`,
        `max`, `min_by` and `max_by`.

        >>> pairs = env.from_collection([("a", 2), ("b", 7), ("a", 3)])
        >>> list(pairs.key_by(0).reduce(lambda a, b: (a[0], a[1] * b[1])).execute_and_collect())
        [('a', 2), ('b', 7), ('a', 6)]
        """
        check_function("reduce", func, ReduceFunction, "a function of two records or a ReduceFunction")
        is_ours = isinstance(func, FieldReduceFunction)
        resolved = (united_type if is_ours else reduced_type)("reduce", self.upstreams)
        return self.program.transform(
            ReduceNode,
            "Reduce",
            (self.upstreams,),
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            function=func,
        )

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Cuts the records of each key into windows.

        >>> from penstock.datastream.window import TumblingEventTimeWindows
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, _: e[1])
        >>> events = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("a", 12)])
        >>> keyed = events.assign_timestamps_and_watermarks(strategy).key_by(0)
        >>> sums = keyed.window(TumblingEventTimeWindows.of("10 ms")).reduce(lambda a, b: (a[0], a[1] + b[1]))
        >>> sorted(sums.execute_and_collect())
        [('a', 4), ('a', 12), ('b', 2)]
        """
        return WindowedStream("window", self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of `size` records of a key, of which one begins every `slide` records; 0: end to end.

        >>> pairs = env.from_collection([("a", 2), ("b", 7), ("a", 3), ("a", 5)])
        >>> sums = pairs.key_by(0).count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1]))
        >>> list(sums.execute_and_collect())
        [('a', 5)]
        """
        return WindowedStream("count_window", self, count_windows(size, slide))

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Cuts the whole stream into windows, whatever the keys: the same as before `key_by`.

        >>> from penstock.datastream.window import GlobalWindows
        >>> env.from_collection([("a", 2)]).key_by(0).window_all(GlobalWindows.create())
        <AllWindowedStream of <DataStream of TupleTypeInfo(String, Long) from 'Collection Source'> in ...>
        """
        return self._origin.window_all(window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Windows of so many records of the whole stream, whatever the keys.

        >>> pairs = env.from_collection([("a", 2), ("b", 7)]).key_by(0)
        >>> list(pairs.count_window_all(2).reduce(lambda a, b: ("both", a[1] + b[1])).execute_and_collect())
        [('both', 9)]
        """
        return self._origin.count_window_all(size, slide)

    def sum(self, position_to_sum: FieldHint = 0) -> DataStream:
        """The sum of a field so far, per key; other fields are those of the key's first record.

        >>> pairs = env.from_collection([("a", 2), ("b", 7), ("a", 3)])
        >>> list(pairs.key_by(0).sum(1).execute_and_collect())
        [('a', 2), ('b', 7), ('a', 5)]
        """
        return self._aggregate("sum", FieldAggregation.SUM, position_to_sum)

    def min(self, position_to_min: FieldHint = 0) -> DataStream:
        """The least value of a field so far, per key; other fields are those of the key's first record.

        >>> pairs = env.from_collection([("a", 2), ("b", 7), ("a", 3)])
        >>> list(pairs.key_by(0).min(1).execute_and_collect())
        [('a', 2), ('b', 7), ('a', 2)]
        """
        return self._aggregate("min", FieldAggregation.MIN, position_to_min)

    def max(self, position_to_max: FieldHint = 0) -> DataStream:
        """The greatest value of a field so far, per key; other fields are those of the key's first record.

        >>> pairs = env.from_collection([("a", 2), ("b", 7), ("a", 3)])
        >>> list(pairs.key_by(0).max(1).execute_and_collect())
        [('a', 2), ('b', 7), ('a', 3)]
        """
        return self._aggregate("max", FieldAggregation.MAX, position_to_max)

    def min_by(self, position_to_min_by: FieldHint = 0) -> DataStream:
        """The record with the least value of a field so far, per key; the first of equals.

        >>> pairs = env.from_collection([("a", 2), ("b", 7), ("a", 3)])
        >>> list(pairs.key_by(0).min_by(1).execute_and_collect())
        [('a', 2), ('b', 7), ('a', 2)]
        """
        return self._aggregate("min_by", FieldAggregation.MIN_BY, position_to_min_by)

    def max_by(self, position_to_max_by: FieldHint = 0) -> DataStream:
        """The record with the greatest value of a field so far, per key; the first of equals.

        >>> pairs = env.from_collection([("a", 2), ("b", 7), ("a", 3)])
        >>> list(pairs.key_by(0).max_by(1).execute_and_collect())
        [('a', 2), ('b', 7), ('a', 3)]
        """
        return self._aggregate("max_by", FieldAggregation.MAX_BY, position_to_max_by)

    def _aggregate(self, method: str, aggregation: FieldAggregation, position: FieldHint) -> DataStream:
        return self.reduce(FieldReduceFunction(aggregation, field_of(method, position, self.get_type())))

    def _keyed(self, name: str, function: Any, resolved: ResolvedType) -> DataStream:
        return self.program.transform(
            KeyedProcessNode,
            name,
            (self.upstreams,),
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            emits_side_outputs=not isinstance(function, KeyedFunctionAdapter),
            function=function,
        )
