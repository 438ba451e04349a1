"""The sending end of an exchange: spreads records over the consumer's subtasks and packs them into buffers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.errors import PlanError
from penstock.engine.stages.combining import Combining
from penstock.engine.stages.compiled import CompiledEdge
from penstock.engine.stages.envelope import Envelope, Kind
from penstock.engine.stages.keying import RecordFailure, keys_of, selected_keys
from penstock.engine.stages.pending_buffer import Part, PendingBuffer
from penstock.plan.nodes import Exchange, ExchangeKind
from penstock.runtime.pane_groups import FEWEST_RECORDS
from penstock.state.key_groups import subtasks_of_keys

_WORTH_A_BUFFER = 8_192
_INT64 = struct.Struct("<q")
_IN_TURN = (ExchangeKind.REBALANCE, ExchangeKind.RESCALE, ExchangeKind.SHUFFLE)
"""Exchanges in which it is not the record that says where it goes, but how many there were before it."""
Targets = np.ndarray[Any, np.dtype[np.int32]]


class EdgeWriter:
    """One channel of one edge, to all subtasks of its consumer. One writer per sender and epoch.

    Records are collected per target until a buffer is full; `flush` packs the rest. Control events go to every
    target, behind the records that came before them.
    """

    def __init__(
        self,
        edge: CompiledEdge,
        codec: RecordCodec,
        sender: int,
        emit: Callable[[Envelope], None],
        combining: Combining | None = None,
        explained: Callable[[RecordFailure], Exception] = lambda failure: failure,
    ) -> None:
        self._edge = edge
        self._codec = codec
        self._sender = sender
        self._emit = emit
        self._sequence = 0
        self._pending: dict[int, PendingBuffer] = {}
        self._combining = combining
        self._combines = combining is not None
        self._explained = explained
        self.records_sent = 0
        self._choose = _CHOICES[edge.exchange.kind](edge, sender)

    @property
    def exchange(self) -> Exchange:
        """How records find their subtask."""
        return self._edge.exchange

    def write(self, batch: Batch) -> None:
        """Sends records to the subtasks that the exchange chooses."""
        targets: Targets | int | None = None
        is_sent = None if self._edge.condition is None or not len(batch) else self._edge.condition.of(batch)
        if is_sent is not None:
            if self._edge.exchange.kind in _IN_TURN:
                # Records that are not sent take their turns: the others go where they would without the condition.
                of_all = self._choose(batch, None)
                assert not isinstance(of_all, int)
                targets = of_all[is_sent.to_numpy(zero_copy_only=False)]
            batch = batch.filtered(is_sent)
        count = len(batch)
        if count == 0:
            return
        typed = self._codec.schema is not None
        columns: Sequence[pa.Array] | None = batch.columns if typed else None
        values = None if typed else batch.values
        stamps = batch.timestamp_column
        keys = keys_of(batch, self._edge.exchange) if self._edge.exchange.kind is ExchangeKind.HASH else None
        part = Part(count, columns, values, stamps, keys)
        self.records_sent += count
        if self._combines:
            part = self._combined(part)
        if part.columns is not None and self._edge.columns is not None and not part.is_combined:
            part = replace(part, columns=[part.columns[place] for place in self._edge.columns])
        if self._edge.exchange.kind is ExchangeKind.BROADCAST:
            self.records_sent += count * (self._edge.target_parallelism - 1)
            for target in range(self._edge.target_parallelism):
                self._append(target, part)
            return
        if targets is None:
            targets = self._choose(batch, part.keys)
        if isinstance(targets, int):
            self._append(targets, part)
            return
        for target in np.flatnonzero(np.bincount(targets)).tolist():
            selected = np.flatnonzero(targets == target)
            self._append(target, part if len(selected) == part.count else part.at(selected))

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

    def _combined(self, part: Part) -> Part:
        """What can be made of the records, if that is much less; the records as they are otherwise."""
        assert self._combining is not None
        if part.count < FEWEST_RECORDS:
            return part
        made = self._combining.made_of(part)
        if made is None:
            # What else this sender has in this epoch is likely to be of the same kind.
            self._combines = False
        return made or part

    def _append(self, target: int, part: Part) -> None:
        pending = self._pending.get(target)
        if pending is not None and not self._has_place(pending, part):
            self._pack(target)
            pending = None
        if pending is None:
            pending = self._pending[target] = PendingBuffer()
        pending.append(part)

    def _has_place(self, pending: PendingBuffer, part: Part) -> bool:
        if not pending.takes(part):
            return False
        if part.is_combined and pending.count + part.count >= _WORTH_A_BUFFER:
            assert self._combining is not None
            pending.combine(self._combining.merged)
            return pending.count < _WORTH_A_BUFFER
        # Merging costs a copy: parts that are worth a buffer of their own get one.
        return part.count < _WORTH_A_BUFFER and pending.count < _WORTH_A_BUFFER

    def _pack(self, target: int) -> None:
        pending = self._pending.pop(target)
        if not pending.is_combined:
            try:
                self._send(target, Kind.DATA, pending.encode(self._codec))
            except RecordFailure as failure:
                raise self._explained(failure) from failure.__cause__
            return
        assert self._combining is not None
        pending.combine(self._combining.merged)
        self._send(target, self._combining.kind, pending.encode(self._combining.codec))

    def _send(self, target: int, kind: Kind, content: bytes) -> None:
        self._emit(Envelope(target, self._edge.number, self._sender, self._sequence, int(kind), content))
        self._sequence += 1


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
    partitioner = edge.exchange.partitioner
    if partitioner is None or edge.exchange.key_selector is None:
        raise PlanError(f"the custom exchange into '{edge.target_name}' needs a partitioner and a key selector")

    def choose(batch: Batch, keys: DictionaryKeys | None) -> Targets | int:
        targets: list[int] = []
        selected = selected_keys(batch, edge.exchange)
        try:
            for key in selected:
                target = partitioner(key, edge.target_parallelism)
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
