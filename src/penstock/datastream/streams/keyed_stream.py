"""A stream whose records are partitioned by key."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.datastream.adapters import (
    KeyedFilterAdapter,
    KeyedFlatMapAdapter,
    KeyedFunctionAdapter,
    KeyedMapAdapter,
    KeyedReduceAdapter,
)
from penstock.datastream.aggregations import FieldAggregation, FieldReduceFunction
from penstock.datastream.arguments import check_function, refuse
from penstock.datastream.keys import field_of
from penstock.datastream.output_types import (
    FLAT_MAP,
    MAP,
    PROCESS,
    ResolvedType,
    TypeHint,
    output_type_of,
    united_type,
)
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.transformation import Transformation
from penstock.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.plan.nodes import Exchange, KeyedProcessNode

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

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector | str | int | Sequence[str | int],
        key_type: TypeHint = None,
    ) -> KeyedStream:
        """Partitions the same records by another key."""
        return self._origin.key_by(key_selector, key_type)

    def process(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, func: KeyedProcessFunction | Callable[[Any, Any], Any], output_type: TypeHint = None
    ) -> DataStream:
        """Hands each record to a `KeyedProcessFunction`, with the state and the timers of the record's key."""
        if isinstance(func, ProcessFunction):
            raise refuse(
                f"process: {type(func).__name__} is a ProcessFunction; a keyed stream takes a KeyedProcessFunction"
            )
        check_function(
            "process", func, KeyedProcessFunction, "a KeyedProcessFunction or a function of a record and a context"
        )
        return self._keyed("KEYED PROCESS", func, output_type_of("process", func, output_type, PROCESS))

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: TypeHint = None) -> DataStream:
        """Turns each record into exactly one other; a `MapFunction` may use state of the record's key."""
        check_function("map", func, MapFunction, "a function of one record or a MapFunction")
        return self._keyed("Map", KeyedMapAdapter(func), output_type_of("map", func, output_type, MAP))

    def flat_map(self, func: Callable[[Any], Any] | FlatMapFunction, output_type: TypeHint = None) -> DataStream:
        """Turns each record into any number of others; a `FlatMapFunction` may use state of the record's key."""
        check_function("flat_map", func, FlatMapFunction, "a function of one record or a FlatMapFunction")
        resolved = output_type_of("flat_map", func, output_type, FLAT_MAP)
        return self._keyed("FlatMap", KeyedFlatMapAdapter(func), resolved)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keeps records; a `FilterFunction` may use state of the record's key."""
        check_function("filter", func, FilterFunction, "a function of one record or a FilterFunction")
        return self._keyed("Filter", KeyedFilterAdapter(func), united_type("filter", self.upstreams))

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Combines the records of each key and emits the combination so far after every record."""
        check_function("reduce", func, ReduceFunction, "a function of two records or a ReduceFunction")
        resolved = united_type("reduce", self.upstreams)
        return self._keyed("Reduce", KeyedReduceAdapter(func, resolved.type_info), resolved)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The sum of a field so far, per key; other fields are those of the key's first record."""
        return self._aggregate("sum", FieldAggregation.SUM, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The least value of a field so far, per key; other fields are those of the key's first record."""
        return self._aggregate("min", FieldAggregation.MIN, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The greatest value of a field so far, per key; other fields are those of the key's first record."""
        return self._aggregate("max", FieldAggregation.MAX, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The record with the least value of a field so far, per key; the first of equals."""
        return self._aggregate("min_by", FieldAggregation.MIN_BY, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The record with the greatest value of a field so far, per key; the first of equals."""
        return self._aggregate("max_by", FieldAggregation.MAX_BY, position_to_max_by)

    def _aggregate(self, method: str, aggregation: FieldAggregation, position: int | str) -> DataStream:
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
