"""A small table in every subtask, and the records of a stream that are joined with its rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TupleTypeInfo, TypeInformation
from penstock.connectors.dataframe import ArrowTableSource
from penstock.datastream.lookup_in_columns import LookupInColumns
from penstock.functions import JoinKind, ProcessFunction, RuntimeContext
from penstock.functions.adapt import close_function, open_function
from penstock.functions.columnar import ColumnarFunction
from penstock.functions.table_lookup import TableLookup, TableLookupFunction
from penstock.plan.nodes import Exchange
from penstock.state.key_encoding import encode_key
from penstock.state.time_buckets import BucketsOfKey
from penstock.state.value_serializers import serializer_for
from penstock.tracing import NotTraceable


class BroadcastLookup(TableLookupFunction, ColumnarFunction):
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
        self._kind = kind
        self.valid_from = valid_from
        self._exchanges = exchanges
        self._column_types: tuple[TypeInformation, TypeInformation] | None = None
        """The types of records and results, where whole batches may be looked up."""
        self._in_columns: LookupInColumns | None = None
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

    def over_columns(self, record_type: TypeInformation, output_type: TypeInformation | None) -> BroadcastLookup:
        """The same join for whole batches."""
        if output_type is None or output_type.is_pickled:
            raise NotTraceable("the results have no declared type")
        made = copy.copy(self)
        made._column_types = record_type, output_type
        made._lookup_in_columns()
        return made

    def results_of(self, batch: Batch) -> Batch | None:
        """The results of all records of a batch, where no record has to be looked at by itself."""
        return None if self._in_columns is None else self._in_columns.results_of(batch)

    def _lookup_in_columns(self) -> LookupInColumns | None:
        if self._column_types is None:
            return None
        if self.valid_from is not None:
            raise NotTraceable("rows hold from a time on")
        record_type, output_type = self._column_types
        return LookupInColumns(
            self._function,
            keeps_record=self._kind.keeps_left,
            record_type=record_type,
            output_type=output_type,
            table=self._table.table,
            table_type=self._table.produced_type,
            exchanges=self._exchanges,
        )

    def open(self, runtime_context: RuntimeContext) -> None:
        """Opens the function inside, and orders the rows by key."""
        try:
            # Made here, of the function as it has come here.
            self._in_columns = self._lookup_in_columns()
        except NotTraceable:
            self._in_columns = None
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
