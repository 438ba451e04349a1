"""Timestamps by a traced function."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.timestamp_assigner import TimestampAssigner
from penstock.common.typeinfo import TypeInformation
from penstock.tracing.programs import TimestampProgram, trace_timestamps
from penstock.tracing.refusal import NotTraceable


class TracedTimestampAssigner(TimestampAssigner):
    """Gives records their times: many at once where they come as columns, with the assigner itself otherwise."""

    def __init__(self, assigner: TimestampAssigner, record_type: TypeInformation) -> None:
        self.assigner = assigner
        self._record_type = record_type

    @cached_property
    def _traced(self) -> TimestampProgram | NotTraceable:
        """Made where it is needed, of the assigner as it has come there."""
        try:
            return trace_timestamps(self.assigner, self._record_type)
        except NotTraceable as refusal:
            return refusal

    @property
    def program(self) -> TimestampProgram | None:
        """What is computed over columns; None where the assigner could not be traced."""
        return None if isinstance(self._traced, NotTraceable) else self._traced

    @property
    def refusal(self) -> NotTraceable | None:
        """Why the assigner could not be traced."""
        return self._traced if isinstance(self._traced, NotTraceable) else None

    def timestamps(self, batch: Batch) -> pa.Array | None:
        """The times of the records; None where the assigner has to be asked."""
        columns = batch.columns_of(codec_for(self._record_type))
        if self.program is None or columns is None:
            return None
        try:
            return self.program.timestamps(columns, batch.timestamp_column, len(batch))
        except Exception:
            return None

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The time of one record."""
        return self.assigner.extract_timestamp(value, record_timestamp)

    def __reduce__(self) -> tuple[Any, ...]:
        return TracedTimestampAssigner, (self.assigner, self._record_type)
