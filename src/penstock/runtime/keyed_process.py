"""The operator behind `KeyedStream.process`."""

from __future__ import annotations

from penstock.common.batch import Batch
from penstock.functions.adapt import process_callable
from penstock.functions.lost_results import telling_lost_results
from penstock.runtime.contexts import KeyedContext
from penstock.runtime.keyed_function_operator import KeyedFunctionOperator
from penstock.runtime.operator import OperatorContext


class KeyedProcessOperator(KeyedFunctionOperator):
    """Runs a `KeyedProcessFunction`, or a plain function of a record and a context."""

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._process_element = telling_lost_results(process_callable(self._function))
        super().open(context)
        self._record_context = KeyedContext(self._timers, self._sender, self._current_key)

    def process(self, batch: Batch, input_index: int) -> None:
        """Calls the function for every record."""
        self._process_keyed_batch(self._process_element, self._record_context, batch)
