"""By how much the windows of a subtask are shifted: found out at its first record, and kept in state."""

from __future__ import annotations

from struct import Struct
from typing import Any

from penstock.runtime.operator import OperatorContext
from penstock.state.state_keys import OperatorKeys
from penstock.windows.assigner import WindowAssigner
from penstock.windows.tumbling import TumblingWindows

_LONG = Struct(">q")


class StaggerState:
    """The shift of an assigner that has one; nothing for others."""

    def __init__(self, context: OperatorContext, assigner: WindowAssigner[Any, Any]) -> None:
        self._assigner: TumblingWindows | None = None
        if isinstance(assigner, TumblingWindows) and assigner.stagger_offset is None:
            self._assigner = assigner
        self._store = context.store
        self._key = OperatorKeys(context.uid, "window: stagger").of(b"")
        self._saved: int | None = None
        self.load()

    def load(self) -> None:
        """Tells the assigner what is in state."""
        if self._assigner is not None:
            data = self._store.get(self._key)
            self._saved = self._assigner.stagger_offset = None if data is None else _LONG.unpack(data)[0]

    def save(self) -> None:
        """Writes what the assigner has found out."""
        if self._assigner is not None and self._assigner.stagger_offset != self._saved:
            assert self._assigner.stagger_offset is not None
            self._store.put(self._key, _LONG.pack(self._assigner.stagger_offset))
            self._saved = self._assigner.stagger_offset
