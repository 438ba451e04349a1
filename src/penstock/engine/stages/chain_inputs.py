"""The inputs of a chain: which channels there are, how far event time has come on each, which have ended."""

from __future__ import annotations

import hashlib
import json

from penstock.engine.stages.compiled import CompiledChain
from penstock.engine.stages.envelope import SOURCE_SENDER
from penstock.runtime.input_gate import InputGate
from penstock.state.store import StateStore

_GATE_PREFIX = b"\x00gate"


class ChainInputs:
    """Channels are (edge, sender). The senders of a source are its splits, which come and go.

    Until a source ends, the channel that speaks for it as a whole is idle: it neither holds event time back nor lets
    it run ahead when all known splits have finished and more may come.
    """

    def __init__(self, chain: CompiledChain) -> None:
        self._chain = chain
        self._source_edges = {edge.number for edge in chain.inputs if edge.source_level == 0}
        self._key = _GATE_PREFIX + hashlib.blake2b(chain.head.uid.encode(), digest_size=8).digest()
        self._gate = self._initial_gate()
        self._saved: bytes | None = None
        self._finished = False

    def _initial_gate(self) -> InputGate:
        gate = InputGate()
        for edge in self._chain.inputs:
            if edge.number in self._source_edges:
                gate.add(_channel(edge.number, SOURCE_SENDER))
                gate.mark_idle(_channel(edge.number, SOURCE_SENDER))
            else:
                for sender in range(edge.source_parallelism):
                    gate.add(_channel(edge.number, sender))
        return gate

    @property
    def current_watermark(self) -> int:
        """The watermark over all channels."""
        return self._gate.watermark

    def watermark(self, edge: int, sender: int, watermark: int) -> int | None:
        """A channel's event time rises; returns the new watermark over all channels if that rose too."""
        self._gate.add(_channel(edge, sender))
        return self._gate.update(_channel(edge, sender), watermark)

    def idle(self, edge: int, sender: int) -> int | None:
        """A channel falls silent."""
        self._gate.add(_channel(edge, sender))
        return self._gate.mark_idle(_channel(edge, sender))

    def end(self, edge: int, sender: int) -> int | None:
        """A channel ends. A split that ends is forgotten: its source may bring others."""
        if edge in self._source_edges and sender != SOURCE_SENDER:
            return self._gate.remove(_channel(edge, sender))
        return self._gate.mark_ended(_channel(edge, sender))

    def just_finished(self) -> bool:
        """True once, when the last input has ended."""
        if self._finished or not self._gate.is_ended:
            return False
        self._finished = True
        return True

    def save(self, store: StateStore) -> None:
        """Makes the channels' progress part of the subtask's state."""
        snapshot = {"gate": self._gate.snapshot(), "finished": self._finished}
        data = json.dumps(snapshot, sort_keys=True).encode()
        if data != self._saved:
            store.put(self._key, data)
            self._saved = data

    def load(self, store: StateStore) -> None:
        """The progress as the state has it."""
        data = store.get(self._key)
        self._saved = data
        if data is None:
            self._gate = self._initial_gate()
            self._finished = False
        else:
            snapshot = json.loads(data)
            self._gate = InputGate.restore(snapshot["gate"])
            self._finished = snapshot["finished"]


def _channel(edge: int, sender: int) -> int:
    return (edge << 63) | sender
