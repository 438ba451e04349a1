"""Batches whose values have columns that their type does not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec, Timestamps


class FormedBatch(Batch):
    """Records of no declared type that were computed as columns: their values are made when somebody asks for them.

    `form` is the codec that makes the values of the columns. To all but those who ask for columns of just that form
    it is a batch of values.
    """

    __slots__ = ("_form", "_form_columns")

    def __init__(
        self, codec: RecordCodec, form: RecordCodec, form_columns: list[pa.Array], timestamps: Timestamps = None
    ) -> None:
        super().__init__(codec, values=[], timestamps=timestamps)
        self._values: list[Any] | None = None
        self._columns: list[pa.Array] | None = None
        self._form = form
        self._form_columns = form_columns

    def __len__(self) -> int:
        return len(self._form_columns[0])

    @property
    def values(self) -> list[Any]:
        """The records as Python values."""
        values = self._values
        if values is None:
            values = self._values = self._form.to_values(self._form_columns)
        return values

    @property
    def columns(self) -> list[pa.Array]:
        """The records as columns of the declared type."""
        columns = self._columns
        if columns is None:
            columns = self._columns = self.codec.to_columns(self.values)
        return columns

    def columns_of(self, codec: RecordCodec) -> list[pa.Array] | None:
        """The records as columns of a codec, where they are known to be the very same values."""
        return self._form_columns if codec is self._form else None

    def with_timestamps(self, timestamps: Timestamps) -> Batch:
        """The same records with other timestamps, and without keys."""
        return FormedBatch(self.codec, self._form, self._form_columns, timestamps)

    def part(self, start: int, end: int) -> Batch:
        """The records from `start` up to `end`, without keys."""
        columns = [column.slice(start, end - start) for column in self._form_columns]
        return FormedBatch(self.codec, self._form, columns, self._times_of_part(start, end))

    def filtered(self, mask: pa.Array) -> Batch:
        """The records at the places where the mask is true, without keys."""
        columns = [column.filter(mask) for column in self._form_columns]
        return FormedBatch(self.codec, self._form, columns, self._times_where(mask))
