"""The operator behind `KeyedStream.reduce` and the aggregations of a field."""

from __future__ import annotations

from penstock.common.batch import Batch, RecordCodec
from penstock.common.typeinfo import TypeInformation
from penstock.functions.adapt import reduce_callable
from penstock.runtime.keyed_function_operator import KeyedFunctionOperator
from penstock.runtime.operator import MAX_WATERMARK, OperatorContext
from penstock.state.descriptors import ValueStateDescriptor


class KeyedReduceOperator(KeyedFunctionOperator):
    """Combines the records of each key; the combination so far goes out after every record.

    In batch execution it goes out once, when the key has no more records.
    """

    def __init__(self, function: object, value_type: TypeInformation | None, output_codec: RecordCodec) -> None:
        super().__init__(function, output_codec)
        self._descriptor = ValueStateDescriptor("reduced", value_type)

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._reduce = reduce_callable(self._function)
        super().open(context)
        self._reduced = self._state.get_state(self._descriptor)

    def process(self, batch: Batch, input_index: int) -> None:
        """Adds each record to the combination of its key."""
        records = iter(batch.values)
        try:
            results = self._reduced.fold(self._keys_of(batch), records, self._reduce)
        except Exception as error:
            raise self._record_failure(error, batch, records) from error
        if not self._context.batch:
            self._sender.send(results, batch.timestamps)

    def end_key(self) -> None:
        """Batch execution: sends the combination of all records of the key."""
        self._sender.send([self._reduced.value()], [MAX_WATERMARK])
        super().end_key()
