"""Which subtask of the next operator gets a record."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast, overload

from penstock.datastream.arguments import check_instance
from penstock.datastream.keys import hash_exchange, key_selector_of, partitioner_of
from penstock.datastream.output_types import TypeHint
from penstock.datastream.streams.connected_streams import BroadcastStream, KeyHint
from penstock.functions import Partitioner
from penstock.plan.nodes import FORWARD, Exchange, ExchangeKind
from penstock.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream
    from penstock.datastream.streams.keyed_stream import KeyedStream


class PartitioningStream:
    """How a `DataStream` spreads its records over the subtasks of the next operator."""

    def key_by(self, key_selector: KeyHint, key_type: TypeHint = None) -> KeyedStream:
        """Partitions by key: a function, an expression, a field (`"card"`), or several (`["country", "card"]`).

        >>> cards = env.from_collection([("visa", 2), ("amex", 5), ("visa", 3)])
        >>> list(cards.key_by(0).sum(1).execute_and_collect())
        [('visa', 2), ('amex', 5), ('visa', 5)]
        """
        stream = cast("DataStream", self)
        return stream.program.keyed_stream(stream, hash_exchange("key_by", key_selector, key_type, stream.get_type()))

    def rebalance(self) -> DataStream:
        """Spreads the records evenly over the subtasks of the next operator.

        >>> numbers = env.from_collection([1, 2, 3]).rebalance().map(lambda n: n * n).set_parallelism(3)
        >>> sorted(numbers.execute_and_collect())
        [1, 4, 9]
        """
        return self._partitioned(Exchange(ExchangeKind.REBALANCE))

    def rescale(self) -> DataStream:
        """Spreads the records of each subtask over its own share of the next operator's subtasks.

        >>> numbers = env.from_sequence(1, 4).set_parallelism(2).rescale().map(lambda n: n * n).set_parallelism(4)
        >>> sorted(numbers.execute_and_collect())
        [1, 4, 9, 16]
        """
        return self._partitioned(Exchange(ExchangeKind.RESCALE))

    def shuffle(self) -> DataStream:
        """Sends each record to a random subtask of the next operator.

        >>> numbers = env.from_collection([1, 2, 3]).shuffle().map(lambda n: n * n).set_parallelism(2)
        >>> sorted(numbers.execute_and_collect())
        [1, 4, 9]
        """
        return self._partitioned(Exchange(ExchangeKind.SHUFFLE))

    def forward(self) -> DataStream:
        """Keeps the records in their subtask; the next operator must have the same parallelism.

        >>> list(env.from_collection([1, 2, 3]).forward().map(lambda n: n * n).execute_and_collect())
        [1, 4, 9]
        """
        return self._partitioned(FORWARD)

    def global_(self) -> DataStream:
        """Sends all records to the first subtask of the next operator.

        >>> class Subtask(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.index = runtime_context.get_index_of_this_subtask()
        ...
        ...     def map(self, value):
        ...         return value, self.index
        >>> numbers = env.from_collection([1, 2, 3]).global_().map(Subtask()).set_parallelism(2)
        >>> list(numbers.execute_and_collect())
        [(1, 0), (2, 0), (3, 0)]
        """
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

        >>> numbers = env.from_collection([1, 2]).broadcast().map(lambda n: n * n).set_parallelism(2)
        >>> sorted(numbers.execute_and_collect())
        [1, 1, 4, 4]
        >>> env.from_collection([("most", 10)]).broadcast(MapStateDescriptor("limits", Types.STRING(), Types.LONG()))
        <BroadcastStream of <DataStream of TupleTypeInfo(String, Long) from 'Collection Source'> for 'limits'>
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
        key_selector: KeyHint,
    ) -> DataStream:
        """Sends each record to the subtask that `partitioner(key, number of subtasks)` names.

        >>> cards = env.from_collection([("visa", 2), ("amex", 5)])
        >>> list(cards.partition_custom(lambda key, subtasks: key % subtasks, 1).map(len).execute_and_collect())
        [2, 2]
        """
        record_type = cast("DataStream", self).get_type()
        return self._partitioned(
            Exchange(
                ExchangeKind.CUSTOM,
                key_selector=key_selector_of("partition_custom", key_selector, record_type),
                partitioner=partitioner_of("partition_custom", partitioner),
            )
        )

    def _partitioned(self, exchange: Exchange) -> DataStream:
        stream = cast("DataStream", self)
        return stream.program.data_stream(
            tuple(dataclasses.replace(upstream, exchange=exchange) for upstream in stream.upstreams)
        )
