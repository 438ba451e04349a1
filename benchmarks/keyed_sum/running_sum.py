"""The user's function of the keyed benchmarks: a running sum per key, one output per record."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.common import Row, Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor

SUM_TYPE = Types.TUPLE([Types.LONG(), Types.LONG()])


class RunningSum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, int]]:
        total = (self.sum.value() or 0) + value.v
        self.sum.update(total)
        yield value.k, total
