"""The size of what readers hand over: many records cost little each, few enough to bound memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec

MAX_BATCH_RECORDS = 65_536


def batches_of_columns(
    codec: RecordCodec, columns: Sequence[pa.Array], timestamps: list[int | None] | None = None
) -> Iterator[Batch]:
    """Columns of any length as batches of a bounded one; nothing is copied."""
    records = len(columns[0]) if columns else 0
    if records <= MAX_BATCH_RECORDS:
        if records:
            yield Batch(codec, columns=list(columns), timestamps=timestamps)
        return
    for start in range(0, records, MAX_BATCH_RECORDS):
        yield Batch(
            codec,
            columns=[column.slice(start, MAX_BATCH_RECORDS) for column in columns],
            timestamps=None if timestamps is None else timestamps[start : start + MAX_BATCH_RECORDS],
        )
