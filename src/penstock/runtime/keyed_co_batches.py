"""The operator behind `ConnectedStreams.process_batches`."""

from __future__ import annotations

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import StateError
from penstock.common.typeinfo import TypeInformation
from penstock.functions.batches import BatchFormat, KeyedCoBatchFunction
from penstock.runtime.batch_forms import GivenBatches
from penstock.runtime.keyed_batches import MOST_ROWS, KeyedBatchOperator, gathered
from penstock.runtime.operator import OperatorContext


class KeyedCoBatchOperator(KeyedBatchOperator):
    """Gathers the records of two inputs, and calls the function with those of the first, then of the second."""

    def __init__(
        self,
        function: KeyedCoBatchFunction,
        batch_format: BatchFormat,
        input_types: tuple[TypeInformation, TypeInformation],
        output_type: TypeInformation,
        timestamp_column: str | None,
        key_type: TypeInformation | None,
    ) -> None:
        super().__init__(function, batch_format, input_types[0], output_type, timestamp_column, key_type)
        calls = function.process_batch1, function.process_batch2
        self._sides = [
            (GivenBatches(input_type, batch_format, timestamp_column), codec_for(input_type), call)
            for input_type, call in zip(input_types, calls, strict=True)
        ]

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._waiting: tuple[list[Batch], list[Batch]] = ([], [])
        super().open(context)

    def process(self, batch: Batch, input_index: int) -> None:
        """Keeps records until there are enough."""
        if batch.dictionary_keys is None:
            raise StateError(f"operator '{self._context.name}' is keyed, but records without keys came to it")
        if len(batch):
            self._waiting[input_index].append(batch)
            self._pending_rows += len(batch)
            if self._pending_rows >= MOST_ROWS:
                self._drain()

    def drop_caches(self) -> None:
        """Forgets records that wait; state is read from the store every time."""
        self._waiting = ([], [])
        super().drop_caches()

    def _drain(self) -> None:
        waiting, self._waiting, self._pending_rows = self._waiting, ([], []), 0
        for (given, codec, call), batches in zip(self._sides, waiting, strict=True):
            if batches:
                self._given, self._call = given, call
                batch, keys = gathered(codec, batches)
                self._batch_context.begin(batch, keys)
                self._run(batch, self._batch_context)
