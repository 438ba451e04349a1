"""The operator behind `ConnectedStreams.process_batches`."""

from __future__ import annotations

from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.functions.batches import BatchFormat, KeyedCoBatchFunction
from penstock.runtime.batch_forms import GivenBatches
from penstock.runtime.keyed_batches import KeyedBatchOperator


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
