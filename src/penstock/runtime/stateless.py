"""The operators behind `map`, `flat_map`, `filter` and `process` on streams without keys."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, compress
from typing import Any

from penstock.common.batch import Batch
from penstock.functions.adapt import filter_callable, flat_map_callable, map_callable, process_callable
from penstock.functions.columnar import ColumnarFunction
from penstock.functions.lost_results import telling_lost_results
from penstock.runtime.contexts import RecordContext
from penstock.runtime.function_operator import FunctionOperator
from penstock.runtime.operator import OperatorContext
from penstock.runtime.timer_services import UnkeyedTimerService


class MapOperator(FunctionOperator):
    """One result per record."""

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._map = map_callable(self._function)
        super().open(context)

    def process(self, batch: Batch, input_index: int) -> None:
        """Calls the function for every record."""
        function, records = self._map, iter(batch.values)
        try:
            # No `map` around what users wrote: a StopIteration of theirs would end it, and lose the rest in silence.
            values = [function(record) for record in records]
        except Exception as error:
            raise self._record_failure(error, batch, records) from error
        self._sender.send(values, batch.timestamps)
        self._sender.flush()


class FilterOperator(FunctionOperator):
    """The records for which the function says yes."""

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._filter = filter_callable(self._function)
        super().open(context)

    def process(self, batch: Batch, input_index: int) -> None:
        """Asks the function about every record."""
        function, records = self._filter, iter(batch.values)
        try:
            answers = [bool(function(record)) for record in records]
        except Exception as error:
            raise self._record_failure(error, batch, records) from error
        timestamps = batch.timestamps and list(compress(batch.timestamps, answers))
        values = list(compress(batch.values, answers))
        if values:
            self._context.output.emit(Batch(self._output_codec, values=values, timestamps=timestamps))


class FlatMapOperator(FunctionOperator):
    """Any number of results per record."""

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._flat_map = telling_lost_results(flat_map_callable(self._function))
        super().open(context)
        self._record_context = RecordContext(UnkeyedTimerService(self, context), self._sender)

    def process(self, batch: Batch, input_index: int) -> None:
        """Calls the function for every record."""
        if batch.timestamps is not None:
            self._process_batch(self._process_element, self._record_context, batch)
            return
        function, records = self._flat_map, iter(batch.values)
        results = chain.from_iterable(result for record in records if (result := function(record)) is not None)
        self._send_all(results, None, lambda error: self._record_failure(error, batch, records))

    def _process_element(self, value: Any, _ctx: Any) -> Iterable[Any] | None:
        return self._flat_map(value)


class ProcessOperator(FunctionOperator):
    """Any number of results per record, and access to time and side outputs."""

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._process_element = telling_lost_results(process_callable(self._function))
        super().open(context)
        self._record_context = RecordContext(UnkeyedTimerService(self, context), self._sender)

    def process(self, batch: Batch, input_index: int) -> None:
        """Calls the function for every record."""
        results = self._function.results_of(batch) if isinstance(self._function, ColumnarFunction) else None
        if results is None:
            self._process_batch(self._process_element, self._record_context, batch)
        elif len(results):
            self._context.output.emit(results)
