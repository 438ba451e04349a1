"""The operators behind `ConnectedStreams.process`, `.map` and `.flat_map`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.common.batch import Batch
from penstock.functions.adapt import co_process_callables
from penstock.functions.lost_results import telling_lost_results
from penstock.runtime.contexts import KeyedContext, RecordContext
from penstock.runtime.function_operator import FunctionOperator
from penstock.runtime.keyed_function_operator import KeyedFunctionOperator
from penstock.runtime.operator import OperatorContext
from penstock.runtime.timer_services import UnkeyedTimerService


class CoProcessOperator(FunctionOperator):
    """Runs a function of two streams without keys."""

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._process_elements = _functions_of(self._function)
        super().open(context)
        self._record_context = RecordContext(UnkeyedTimerService(self, context), self._sender)

    def process(self, batch: Batch, input_index: int) -> None:
        """Calls the function for every record; input 0 is the first stream, input 1 the second."""
        self._process_batch(self._process_elements[input_index], self._record_context, batch)


class KeyedCoProcessOperator(KeyedFunctionOperator):
    """Runs a function of two streams with keys; both share state and timers."""

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._process_elements = _functions_of(self._function)
        super().open(context)
        self._record_context = KeyedContext(self._timers, self._sender, self._current_key)

    def process(self, batch: Batch, input_index: int) -> None:
        """Calls the function for every record; input 0 is the first stream, input 1 the second."""
        self._process_keyed_batch(self._process_elements[input_index], self._record_context, batch)


def _functions_of(function: Any) -> tuple[Callable[[Any, Any], Iterable[Any] | None], ...]:
    return tuple(telling_lost_results(each) for each in co_process_callables(function))
