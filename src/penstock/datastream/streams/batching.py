"""Whole batches of records into a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from penstock.datastream.batch_functions import map_batches
from penstock.datastream.output_types import TypeHint

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream


class BatchingStream:
    """What a `DataStream` does with many records at once."""

    def map_batches(
        self,
        func: Callable[[Any], Any],
        output_type: TypeHint = None,
        format: str = "arrow",  # noqa: A002 (what users of other libraries know it by)
        *,
        timestamp_column: str | None = None,
    ) -> DataStream:
        """Hands whole batches of records to a function, which returns a batch of any number of rows, or yields several.

        `format` says what a batch is: "arrow" (a `pyarrow.RecordBatch`), "pandas" (a `DataFrame`) or "numpy" (a dict of
        arrays), with a column for each field, or the column `value` where records have none. The function may answer
        in any of the three. Its columns must be those of `output_type`, or of the records where there is none.

        Where one batch is returned that has as many rows as it was given, each row keeps the time of the record in its
        place. Otherwise name a `timestamp_column`: batches have it, with the times in ms, and results must have it.

        >>> import numpy as np
        >>> numbers = env.from_collection([1.0, 4.0, 9.0], Types.DOUBLE())
        >>> list(numbers.map_batches(lambda b: {"value": np.sqrt(b["value"])}, format="numpy").execute_and_collect())
        [1.0, 2.0, 3.0]
        """
        return map_batches(cast("DataStream", self), func, output_type, format, timestamp_column)
