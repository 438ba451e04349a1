"""A keyed function with state, for several tests."""

from __future__ import annotations

from penstock.common import Types
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor


class Running(KeyedProcessFunction):
    """The number of each record among those of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield value[0], count
