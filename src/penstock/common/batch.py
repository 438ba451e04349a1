"""A batch: records that travel together, as Python values or as Arrow columns, whichever is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.kernels import pc
from penstock.common.null_columns import filtered_columns


class RecordCodec(Protocol):
    """Turns a list of records into Arrow columns and back.

    `schema` is None for Python objects of no declared type: such records have no columns and are pickled.
    """

    @property
    def schema(self) -> pa.Schema | None:
        """The columns; None where there are none."""
        ...

    def to_columns(self, values: Sequence[Any]) -> list[pa.Array]:
        """One column per field. Raises `TypeMismatchError` with the index of the first value that misfits."""
        ...

    def to_values(self, columns: Sequence[pa.Array]) -> list[Any]:
        """The records again, in the Python form of the declared type."""
        ...


Timestamps: TypeAlias = "list[int | None] | pa.Array | None"


class Batch:
    """Records of one channel between two control events, in their order.

    Values and columns are two views of the same records: each is made from the other when first asked for. So it is
    with `timestamps`, event times in ms (None: the records have none), and with `keys`, the encoded keys that the
    inputs of keyed operators have.
    """

    __slots__ = (
        "_columns",
        "_dictionary_keys",
        "_keys",
        "_timestamp_column",
        "_timestamps",
        "_values",
        "codec",
        "record_counts",
        "was_made_of_columns",
    )

    def __init__(
        self,
        codec: RecordCodec,
        *,
        values: list[Any] | None = None,
        columns: list[pa.Array] | None = None,
        timestamps: Timestamps = None,
        keys: list[bytes] | DictionaryKeys | None = None,
        record_counts: pa.Array | None = None,
    ) -> None:
        if values is None and columns is None:
            raise ValueError("a batch needs values or columns")
        self.codec = codec
        self.record_counts = record_counts
        """How many records each one was made of, where they were combined on their way; None: each is one."""
        self.was_made_of_columns = values is None
        """Whether the values, where there are some, are what the columns say; else it may be the other way round."""
        self._values = values
        self._columns = columns
        self._timestamps: list[int | None] | None = None
        self._timestamp_column: pa.Array | None = None
        if isinstance(timestamps, pa.Array):
            self._timestamp_column = timestamps
        else:
            self._timestamps = timestamps
        self._keys: list[bytes] | None = None
        self._dictionary_keys: DictionaryKeys | None = None
        if isinstance(keys, DictionaryKeys):
            self._dictionary_keys = keys
        else:
            self._keys = keys

    def __len__(self) -> int:
        if self._values is not None:
            return len(self._values)
        return len(self._columns[0]) if self._columns else 0

    @property
    def records(self) -> int:
        """How many records these were before they were combined on their way."""
        return len(self) if self.record_counts is None else pc.sum(self.record_counts).as_py()

    def records_at(self, place: int) -> int:
        """How many records the one at a place was made of."""
        return 1 if self.record_counts is None else self.record_counts[place].as_py()

    @property
    def is_columnar(self) -> bool:
        """True while the records exist as columns, so that vector operations cost no conversion."""
        return self._columns is not None

    @property
    def values(self) -> list[Any]:
        """The records as Python values."""
        if self._values is None:
            self._values = self.codec.to_values(self._columns or [])
        return self._values

    @property
    def columns(self) -> list[pa.Array]:
        """The records as Arrow columns; only for codecs with a schema."""
        if self._columns is None:
            self._columns = self.codec.to_columns(self._values or [])
        return self._columns

    @property
    def timestamps(self) -> list[int | None] | None:
        """The time of each record; None where the records have none."""
        if self._timestamps is None and self._timestamp_column is not None:
            self._timestamps = self._timestamp_column.to_pylist()
        return self._timestamps

    @property
    def timestamp_column(self) -> pa.Array | None:
        """The time of each record as 64-bit integers; None where the records have none."""
        if self._timestamp_column is None and self._timestamps is not None:
            self._timestamp_column = pa.array(self._timestamps, pa.int64())
        return self._timestamp_column

    @property
    def either_timestamps(self) -> Timestamps:
        """The times in the form at hand, for a batch of the same records."""
        return self._timestamps if self._timestamp_column is None else self._timestamp_column

    @property
    def keys(self) -> list[bytes] | None:
        """The encoded key of each record; None where the records have none."""
        if self._keys is None and self._dictionary_keys is not None:
            self._keys = self._dictionary_keys.to_list()
        return self._keys

    @property
    def dictionary_keys(self) -> DictionaryKeys | None:
        """The encoded keys, each distinct one once; None where the records have none."""
        if self._dictionary_keys is None and self._keys is not None:
            self._dictionary_keys = DictionaryKeys.of(self._keys)
        return self._dictionary_keys

    def with_timestamps(self, timestamps: Timestamps) -> Batch:
        """The same records with other timestamps, and without keys."""
        same = Batch(self.codec, values=self._values, columns=self._columns, timestamps=timestamps)
        same.was_made_of_columns = self.was_made_of_columns
        return same

    def part(self, start: int, end: int) -> Batch:
        """The records from `start` up to `end`, without keys."""
        if start == 0 and end == len(self):
            return self
        part = Batch(
            self.codec,
            values=None if self._values is None else self._values[start:end],
            columns=None if self._columns is None else [column.slice(start, end - start) for column in self._columns],
            timestamps=self._times_of_part(start, end),
        )
        part.was_made_of_columns = self.was_made_of_columns
        return part

    def filtered(self, mask: pa.Array) -> Batch:
        """The records at the places where the mask is true, without keys."""
        kept = Batch(
            self.codec,
            values=None if self._values is None else list(compress(self._values, mask.to_pylist())),
            columns=None if self._columns is None else filtered_columns(self._columns, mask),
            timestamps=self._times_where(mask),
        )
        kept.was_made_of_columns = self.was_made_of_columns
        return kept

    def columns_of(self, codec: RecordCodec) -> list[pa.Array] | None:
        """The records as columns of a codec, where they are known to be the very same values; None elsewhere.

        Columns that were made of values may be less: an int in a field for floats is a float in its column.
        """
        return self.columns if self.was_made_of_columns and self.codec is codec else None

    def _times_of_part(self, start: int, end: int) -> Timestamps:
        stamps = self.either_timestamps
        if isinstance(stamps, list):
            return stamps[start:end]
        return None if stamps is None else stamps.slice(start, end - start)

    def _times_where(self, mask: pa.Array) -> Timestamps:
        stamps = self.timestamp_column
        return None if stamps is None else stamps.filter(mask)


def concatenated(batches: Sequence[Batch]) -> Batch:
    """One batch of the records of several of the same codec, without their keys."""
    if len(batches) == 1:
        return batches[0]
    timestamps: list[int | None] | None = None
    if any(batch.timestamps is not None for batch in batches):
        timestamps = [time for batch in batches for time in batch.timestamps or [None] * len(batch)]
    return Batch(batches[0].codec, values=[value for batch in batches for value in batch.values], timestamps=timestamps)
