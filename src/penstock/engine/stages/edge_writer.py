"""The sending end of an exchange: spreads records over the consumer's subtasks and packs them into buffers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.errors import PlanError
from penstock.engine.stages import payload
from penstock.engine.stages.compiled import CompiledEdge
from penstock.engine.stages.envelope import Envelope, Kind
from penstock.engine.stages.keying import RecordFailure, keys_of
from penstock.plan.nodes import ExchangeKind
from penstock.state.key_groups import subtasks_of_keys

_WORTH_A_BUFFER = 8_192
_INT64 = struct.Struct("<q")
Targets = np.ndarray[Any, np.dtype[np.int32]]


class EdgeWriter:
    """One channel of one edge, to all subtasks of its consumer. One writer per sender and epoch.

    Records are collected per target until a buffer is full; `flush` packs the rest. Control events go to every
    target, behind the records that came before them.
    """

    def __init__(self, edge: CompiledEdge, codec: RecordCodec, sender: int, emit: Callable[[Envelope], None]) -> None:
        self._edge = edge
        self._codec = codec
        self._sender = sender
        self._emit = emit
        self._sequence = 0
        self._pending: dict[int, _PendingBuffer] = {}
        self.records_sent = 0
        self._choose = _CHOICES[edge.exchange.kind](edge, sender)

    def write(self, batch: Batch) -> None:
        """Sends records to the subtasks that the exchange chooses."""
        count = len(batch)
        if count == 0:
            return
        typed = self._codec.schema is not None
        columns = batch.columns if typed else None
        values = None if typed else batch.values
        stamps = batch.timestamp_column
        keys = keys_of(batch, self._edge.exchange) if self._edge.exchange.kind is ExchangeKind.HASH else None
        if self._edge.exchange.kind is ExchangeKind.BROADCAST:
            for target in range(self._edge.target_parallelism):
                self._append(target, count, columns, values, stamps, None)
            return
        targets = self._choose(batch, keys)
        if isinstance(targets, int):
            self._append(targets, count, columns, values, stamps, keys)
            return
        for target in np.flatnonzero(np.bincount(targets)).tolist():
            selected = np.flatnonzero(targets == target)
            part_keys = None if keys is None else _select_keys(keys, selected)
            if len(selected) == count:
                self._append(target, count, columns, values, stamps, part_keys)
                continue
            indices = pa.array(selected)
            taken = None if columns is None else [column.take(indices) for column in columns]
            picked = None if values is None else [values[i] for i in selected.tolist()]
            times = None if stamps is None else stamps.take(indices)
            self._append(target, len(selected), taken, picked, times, part_keys)

    def watermark(self, watermark: int) -> None:
        """Announces the sender's watermark on every channel."""
        self._control(Kind.WATERMARK, _INT64.pack(watermark))

    def idle(self) -> None:
        """Announces that nothing is to be expected for now."""
        self._control(Kind.IDLE, b"")

    def end(self) -> None:
        """Announces the end of this channel."""
        self._control(Kind.END, b"")

    def flush(self) -> None:
        """Packs what is pending."""
        for target in sorted(self._pending):
            self._pack(target)

    def _control(self, kind: Kind, content: bytes) -> None:
        self.flush()
        for target in range(self._edge.target_parallelism):
            self._send(target, kind, content)

    def _append(
        self,
        target: int,
        count: int,
        columns: Sequence[pa.Array] | None,
        values: list[Any] | None,
        timestamps: pa.Array | None,
        keys: DictionaryKeys | None,
    ) -> None:
        self.records_sent += count
        pending = self._pending.get(target)
        # Merging costs a copy: parts that are worth a buffer of their own get one.
        if pending is not None and (
            count >= _WORTH_A_BUFFER
            or pending.count >= _WORTH_A_BUFFER
            or bool(pending.timestamps) != (timestamps is not None)
        ):
            self._pack(target)
            pending = None
        if pending is None:
            pending = self._pending[target] = _PendingBuffer()
        pending.append(count, columns, values, timestamps, keys)

    def _pack(self, target: int) -> None:
        pending = self._pending.pop(target)
        self._send(target, Kind.DATA, pending.encode(self._codec))

    def _send(self, target: int, kind: Kind, content: bytes) -> None:
        self._emit(Envelope(target, self._edge.number, self._sender, self._sequence, int(kind), content))
        self._sequence += 1


class _PendingBuffer:
    """Records for one target that do not fill a buffer yet."""

    __slots__ = ("columns", "count", "keys", "timestamps", "values")

    def __init__(self) -> None:
        self.count = 0
        self.columns: list[Sequence[pa.Array]] = []
        self.values: list[Any] = []
        self.timestamps: list[pa.Array] = []
        self.keys: list[DictionaryKeys] = []

    def append(
        self,
        count: int,
        columns: Sequence[pa.Array] | None,
        values: list[Any] | None,
        timestamps: pa.Array | None,
        keys: DictionaryKeys | None,
    ) -> None:
        self.count += count
        if columns is not None:
            self.columns.append(columns)
        else:
            assert values is not None
            self.values += values
        if timestamps is not None:
            self.timestamps.append(timestamps)
        if keys is not None:
            self.keys.append(keys)

    def encode(self, codec: RecordCodec) -> bytes:
        columns: Sequence[pa.Array] | None = None
        if self.columns:
            columns = (
                self.columns[0]
                if len(self.columns) == 1
                else [pa.concat_arrays(parts) for parts in zip(*self.columns, strict=True)]
            )
        stamps = pa.concat_arrays(self.timestamps) if self.timestamps else None
        keys = _merge_keys(self.keys) if self.keys else None
        return payload.encode(codec, self.count, columns, self.values, stamps, keys)


def _select_keys(keys: DictionaryKeys, selected: Any) -> DictionaryKeys:
    """The keys of some records, with a dictionary of only those."""
    codes = keys.codes[selected]
    is_used = np.zeros(len(keys.distinct), np.bool_)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    places = np.empty(len(keys.distinct), np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    return DictionaryKeys(places[codes], [keys.distinct[i] for i in used.tolist()])


def _merge_keys(parts: list[DictionaryKeys]) -> DictionaryKeys:
    if len(parts) == 1:
        return parts[0]
    positions: dict[bytes, int] = {}
    codes = [
        np.array([positions.setdefault(key, len(positions)) for key in part.distinct], np.int32)[part.codes]
        for part in parts
    ]
    return DictionaryKeys(np.concatenate(codes), list(positions))


Choose = Callable[[Batch, DictionaryKeys | None], "Targets | int"]


def _by_key_group(edge: CompiledEdge, sender: int) -> Choose:
    def choose(batch: Batch, keys: DictionaryKeys | None) -> Targets | int:
        assert keys is not None
        of_distinct = subtasks_of_keys(keys.distinct, edge.target_max_parallelism, edge.target_parallelism)
        return of_distinct[keys.codes]

    return choose


def _by_sequence(edge: CompiledEdge, sender: int) -> Choose:
    following = sender % edge.target_parallelism

    def choose(batch: Batch, keys: DictionaryKeys | None) -> Targets | int:
        nonlocal following
        targets = (following + np.arange(len(batch), dtype=np.int64)) % edge.target_parallelism
        following = (following + len(batch)) % edge.target_parallelism
        return targets.astype(np.int32)

    return choose


def _local_group(edge: CompiledEdge, sender: int) -> Choose:
    """Rescale: each sender serves its own slice of the consumer's subtasks."""
    senders = max(edge.source_parallelism, 1)
    first = (sender % senders) * edge.target_parallelism // senders
    behind = max(first + 1, (sender % senders + 1) * edge.target_parallelism // senders)
    following = 0

    def choose(batch: Batch, keys: DictionaryKeys | None) -> Targets | int:
        nonlocal following
        targets = first + (following + np.arange(len(batch), dtype=np.int64)) % (behind - first)
        following += len(batch)
        return targets.astype(np.int32)

    return choose


def _at_random(edge: CompiledEdge, sender: int) -> Choose:
    # Seeded: a retried task must send the same bytes to the same places.
    generator = np.random.default_rng((edge.number, sender & 0xFFFFFFFF))

    def choose(batch: Batch, keys: DictionaryKeys | None) -> Targets | int:
        return generator.integers(0, edge.target_parallelism, len(batch), dtype=np.int32)

    return choose


def _to_same_index(edge: CompiledEdge, sender: int) -> Choose:
    return lambda batch, keys: sender % edge.target_parallelism


def _to_first(edge: CompiledEdge, sender: int) -> Choose:
    return lambda batch, keys: 0


def _by_partitioner(edge: CompiledEdge, sender: int) -> Choose:
    partitioner, selector = edge.exchange.partitioner, edge.exchange.key_selector
    if partitioner is None or selector is None:
        raise PlanError(f"the custom exchange into '{edge.target_name}' needs a partitioner and a key selector")

    def choose(batch: Batch, keys: DictionaryKeys | None) -> Targets | int:
        targets: list[int] = []
        values = iter(batch.values)
        try:
            for value in values:
                target = partitioner(selector(value), edge.target_parallelism)
                if not 0 <= target < edge.target_parallelism:
                    raise PlanError(
                        f"the partitioner before '{edge.target_name}' returned {target!r}; "
                        f"expected an integer from 0 to {edge.target_parallelism - 1}"
                    )
                targets.append(target)
        except Exception as error:
            raise RecordFailure(batch.values[len(targets)]) from error
        return np.array(targets, np.int32)

    return choose


_CHOICES: dict[ExchangeKind, Callable[[CompiledEdge, int], Choose]] = {
    ExchangeKind.HASH: _by_key_group,
    ExchangeKind.REBALANCE: _by_sequence,
    ExchangeKind.RESCALE: _local_group,
    ExchangeKind.SHUFFLE: _at_random,
    ExchangeKind.FORWARD: _to_same_index,
    ExchangeKind.GLOBAL: _to_first,
    ExchangeKind.CUSTOM: _by_partitioner,
    ExchangeKind.BROADCAST: _to_first,
}
