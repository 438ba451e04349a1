"""A small table in every subtask, and the records of a stream that are joined with its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TupleTypeInfo, TypeInformation
from penstock.connectors.dataframe import ArrowTableSource
from penstock.functions import JoinKind, ProcessFunction, RuntimeContext
from penstock.functions.adapt import close_function, open_function
from penstock.functions.table_lookup import TableLookup
from penstock.plan.nodes import Exchange
from penstock.state.key_encoding import encode_key
from penstock.state.time_buckets import BucketsOfKey
from penstock.state.value_serializers import serializer_for


class BroadcastLookup(ProcessFunction):
    """Joins records with the rows of a table that travels with the function."""

    def __init__(
        self,
        function: Any,
        kind: JoinKind,
        valid_from: str | None,
        table: ArrowTableSource,
        exchanges: tuple[Exchange, Exchange],
    ) -> None:
        self._function = function
        self._lookup = TableLookup(function, kind, valid_from)
        self._table = table
        of_record, of_row = exchanges
        assert of_record.key_selector is not None
        assert of_row.key_selector is not None
        self._key_of_record = of_record.key_selector
        self._key_of_row = of_row.key_selector
        self._key_type = of_row.key_type
        self._rows: dict[bytes, BucketsOfKey] = {}

    @property
    def wrapped_function(self) -> Any:
        """The function inside."""
        return self._function

    def open(self, runtime_context: RuntimeContext) -> None:
        """Opens the function inside, and orders the rows by key."""
        open_function(self._key_of_record, runtime_context)
        open_function(self._function, runtime_context)
        self._convert = _conversion(self._key_type)
        columns = [column.combine_chunks() for column in self._table.table.columns]
        for row in codec_for(self._table.produced_type).to_values(columns):
            rows_of_key = self._rows.setdefault(encode_key(self._key_of_row(row)), BucketsOfKey())
            rows_of_key.records.setdefault(self._lookup.time_of_row(row), []).append(row)
        for rows_of_key in self._rows.values():
            rows_of_key.times = sorted(rows_of_key.records)

    def close(self) -> None:
        """Closes the function inside."""
        close_function(self._function)
        close_function(self._key_of_record)

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """The results of a record."""
        key = encode_key(self._convert(self._key_of_record(value)))
        return self._lookup.joined(value, ctx.timestamp(), self._rows.get(key))


def _conversion(key_type: TypeInformation | None) -> Callable[[Any], Any]:
    """What makes a key one of that type, so that it is found among those of the table."""
    if not isinstance(key_type, TupleTypeInfo):
        return serializer_for(key_type).convert
    fields = [_conversion(field) for field in key_type.get_field_types()]

    def convert(key: Any) -> tuple[Any, ...]:
        return tuple(convert_field(part) for convert_field, part in zip(fields, key, strict=True))

    return convert
