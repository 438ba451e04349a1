"""The inputs of a chain: which channels there are, how far event time has come on each, which have ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from penstock.engine.stages.compiled import CompiledChain
from penstock.engine.stages.envelope import SOURCE_SENDER, is_split
from penstock.runtime.combined_watermark import CombinedWatermark
from penstock.runtime.input_gate import InputGate
from penstock.state.store import StateStore

_GATE_PREFIX = b"\x00gate"


class ChainInputs:
    """From the watermarks of channels (edge, sender) to that of the chain's head, as Flink makes it:

    - the senders of a source are its splits; together they are one channel, at the least of their watermarks,
    - the channels of one input meet in a gate,
    - the inputs of a two-input operator are combined.

    Splits come and go. One that is in this epoch counts from its beginning, whatever the order in which splits are
    worked on; one that ends is forgotten, for its source may bring others. A source without splits holds event time
    where it is until it ends, or is said to be idle.
    """

    def __init__(self, chain: CompiledChain) -> None:
        self._chain = chain
        self._input_of = {edge.number: edge.input_index for edge in chain.inputs}
        self._key = _GATE_PREFIX + hashlib.blake2b(chain.head.uid.encode(), digest_size=8).digest()
        self._saved: bytes | None = None
        self._reset()

    def _reset(self) -> None:
        self._sources = {edge.number: CombinedWatermark() for edge in self._chain.inputs if edge.source_level == 0}
        self._gates = {index: InputGate() for index in sorted(set(self._input_of.values()))}
        self._combined = CombinedWatermark()
        self._finished = False
        self._known_ended: set[int] = set()
        for index in self._gates:
            self._combined.add(index)
        for edge in self._chain.inputs:
            senders = (SOURCE_SENDER,) if edge.source_level == 0 else range(edge.source_parallelism)
            for sender in senders:
                self._gates[edge.input_index].add(_channel(edge.number, sender))

    @property
    def current_watermark(self) -> int:
        """The watermark of the head."""
        return self._combined.watermark

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be expected on any input."""
        return self._combined.is_idle

    def announce(self, channels: Iterable[tuple[int, int]]) -> None:
        """Makes the (edge, sender) of an epoch known before any of its rows is worked on."""
        for edge, sender in channels:
            source = self._sources.get(edge)
            if source is not None and is_split(sender):
                source.add(sender)

    def start_anew(self) -> None:
        """Forgets which channels are idle: nobody has looked for a while."""
        for each in (*self._sources.values(), *self._gates.values(), self._combined):
            each.start_anew()

    def watermark(self, edge: int, sender: int, watermark: int) -> int | None:
        """A channel's event time; it is not idle. Returns the new watermark of the head if that rose."""
        source = self._sources.get(edge)
        if source is not None:
            return self._source_moved(edge, source.update(sender, watermark))
        gate, channel = self._gates[self._input_of[edge]], _channel(edge, sender)
        gate.mark_active(channel)
        gate.update(channel, watermark)
        return self._input_moved(self._input_of[edge])

    def idle(self, edge: int, sender: int) -> int | None:
        """A channel falls silent; `SOURCE_SENDER` speaks for a source that has no splits."""
        source = self._sources.get(edge)
        if source is None or sender == SOURCE_SENDER:
            self._gates[self._input_of[edge]].mark_idle(_channel(edge, sender))
            return self._input_moved(self._input_of[edge])
        return self._source_moved(edge, source.set_idle(sender, True))

    def end(self, edge: int, sender: int) -> int | None:
        """A channel ends; of a source, a split or, with `SOURCE_SENDER`, the whole."""
        source = self._sources.get(edge)
        if source is None or sender == SOURCE_SENDER:
            self._gates[self._input_of[edge]].mark_ended(_channel(edge, sender))
            return self._input_moved(self._input_of[edge])
        return self._source_moved(edge, source.remove(sender))

    def just_ended(self) -> list[int]:
        """The inputs that have ended, each once after it did or `load` was called."""
        ended = [index for index, gate in self._gates.items() if gate.is_ended and index not in self._known_ended]
        self._known_ended.update(ended)
        return ended

    def just_finished(self) -> bool:
        """True once, when the last input has ended."""
        if self._finished or not all(gate.is_ended for gate in self._gates.values()):
            return False
        self._finished = True
        return True

    def save(self, store: StateStore) -> None:
        """Makes the channels' progress part of the subtask's state."""
        snapshot = {
            "sources": {str(edge): source.snapshot() for edge, source in self._sources.items()},
            "gates": {str(index): gate.snapshot() for index, gate in self._gates.items()},
            "combined": self._combined.snapshot(),
            "finished": self._finished,
        }
        data = json.dumps(snapshot, sort_keys=True).encode()
        if data != self._saved:
            store.put(self._key, data)
            self._saved = data

    def load(self, store: StateStore) -> None:
        """The progress as the state has it."""
        data = store.get(self._key)
        self._saved = data
        if data is None:
            self._reset()
            return
        snapshot = json.loads(data)
        self._sources = {int(edge): CombinedWatermark.restore(each) for edge, each in snapshot["sources"].items()}
        self._gates = {int(index): InputGate.restore(each) for index, each in snapshot["gates"].items()}
        self._combined = CombinedWatermark.restore(snapshot["combined"])
        self._finished = snapshot["finished"]
        self._known_ended = set()

    def _source_moved(self, edge: int, rise: int | None) -> int | None:
        source, gate, channel = self._sources[edge], self._gates[self._input_of[edge]], _channel(edge, SOURCE_SENDER)
        # As in Flink, a source that was idle is active again when its watermark rises, not before.
        if rise is not None:
            gate.mark_active(channel)
            gate.update(channel, rise)
        if len(source) > 0 and source.is_idle:
            gate.mark_idle(channel)
        return self._input_moved(self._input_of[edge])

    def _input_moved(self, index: int) -> int | None:
        gate, before = self._gates[index], self._combined.watermark
        if gate.watermark > self._combined.watermark_of(index):
            self._combined.update(index, gate.watermark)
        if gate.is_idle != self._combined.is_part_idle(index):
            self._combined.set_idle(index, gate.is_idle)
        return self._combined.watermark if self._combined.watermark > before else None


def _channel(edge: int, sender: int) -> int:
    return (edge << 63) | sender
