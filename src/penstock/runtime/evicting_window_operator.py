"""The operator behind windows with an evictor."""

from __future__ import annotations

from typing import Any

from penstock.common.typeinfo import Types
from penstock.runtime.operator import OperatorContext
from penstock.runtime.window_calls import combining
from penstock.runtime.window_contents import ListedContents, WindowContents
from penstock.runtime.window_contexts import EvictorContext
from penstock.runtime.window_operator import WindowOperator
from penstock.windows.evictors import TimestampedValue


class EvictingWindowOperator(WindowOperator):
    """Keeps all records with their timestamps; the evictor takes some out when a window fires."""

    def open(self, context: OperatorContext) -> None:
        """Opens the window function."""
        super().open(context)
        assert self._definition.evictor is not None
        self._evictor = self._definition.evictor
        self._evictor_context = EvictorContext(self, context)
        self._combine = combining(self._definition)

    def _make_contents(self, context: OperatorContext) -> WindowContents:
        element_type = self._definition.element_type
        stored = None if element_type is None else Types.TUPLE([element_type, Types.LONG()])
        self._records = ListedContents(context.store, context.uid, context.max_parallelism, stored)
        return self._records

    def _stored(self, value: Any, timestamp: int | None) -> Any:
        return value, timestamp

    def _evaluate(self, at: bytes) -> bool:
        stored = self._records.inputs(at)
        if stored is None:
            return False
        window, context = self._pane.known.window, self._evictor_context
        elements = [TimestampedValue(value, timestamp) for value, timestamp in stored]
        self._evictor.evict_before(elements, len(elements), window, context)
        inputs = self._combine([element.value for element in elements])
        if inputs is not None:
            self._emit(self._call(inputs))
        self._evictor.evict_after(elements, len(elements), window, context)
        if len(elements) < len(stored):
            self._records.replace(at, [(element.value, element.timestamp) for element in elements])
        return True
