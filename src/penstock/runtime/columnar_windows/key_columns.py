"""The keys of results, as columns."""

from __future__ import annotations

import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.growing_columns import GrowingColumn
from penstock.common.row import Row
from penstock.common.typeinfo import RowTypeInfo
from penstock.runtime.columnar_windows.key_numbers import KeyNumbers, Numbers
from penstock.state.key_encoding import decode_key
from penstock.windows.declared_aggregation import DeclaredAggregation


class KeyColumns:
    """Decodes every key once; results have none where windows are of a whole stream, or are records."""

    def __init__(self, aggregation: DeclaredAggregation | None) -> None:
        names = [] if aggregation is None else list(aggregation.key_names)
        self._has_one_field = len(names) == 1
        self._codec = codec_for(RowTypeInfo(aggregation.key_types, names)) if aggregation and names else None
        self._keys: KeyNumbers | None = None
        self._columns: list[GrowingColumn] = []
        """By the numbers of keys."""
        self._decoded = 0

    def of(self, keys: KeyNumbers, numbers: Numbers) -> list[pa.Array]:
        """The keys of numbers."""
        if self._codec is None:
            return []
        if keys is not self._keys:
            self._keys, self._columns, self._decoded = keys, [], 0
        if self._decoded < len(keys):
            self._decode(keys.all()[self._decoded :])
        places = pa.array(numbers)
        return [column.at(places) for column in self._columns]

    def _decode(self, new: list[bytes]) -> None:
        assert self._codec is not None
        decoded = map(decode_key, new)
        columns = self._codec.to_columns([Row(key) if self._has_one_field else Row(*key) for key in decoded])
        self._columns = self._columns or [GrowingColumn(column.type) for column in columns]
        for known, column in zip(self._columns, columns, strict=True):
            known.add(column)
        self._decoded += len(new)
