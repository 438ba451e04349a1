"""Looks up the rows of many records at once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.kernels import pc
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation, Types
from penstock.expressions.evaluator import ExpressionKey
from penstock.functions import FlatJoinFunction
from penstock.plan.nodes import Exchange
from penstock.tracing import NotTraceable, TracedKey, trace_pairs

_INTEGERS = (Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG())
_TEXT = Types.STRING()


class LookupInColumns:
    """Joins records with a table that has each key once, by a function that is computed over columns.

    Raises `NotTraceable` where only Python can do that. A left join does it as long as all records find a row.
    """

    def __init__(
        self,
        function: Any,
        *,
        keeps_record: bool,
        record_type: TypeInformation,
        output_type: TypeInformation,
        table: pa.Table,
        table_type: TypeInformation,
        exchanges: tuple[Exchange, Exchange],
    ) -> None:
        if isinstance(function, FlatJoinFunction):
            raise NotTraceable("it may make several results of a pair")
        of_record, of_row = exchanges
        self._keeps_record = keeps_record
        self._codec = codec_for(record_type)
        self._output_codec = codec_for(output_type)
        self._program = trace_pairs(function, "join", record_type, table_type, output_type)
        self._places: list[set[int] | None] = list(self._program.places)
        self._key = _key_of_records(of_record, record_type)
        self._rows = [column.combine_chunks() for column in table.columns]
        self._keys = _wide(_only_key(of_row, table_type, self._rows))
        if pc.count_distinct(self._keys, mode="all").as_py() != len(self._keys):
            raise NotTraceable("the table has several rows of a key")

    def results_of(self, batch: Batch) -> Batch | None:
        """The results of all records; None where they have to be looked at one by one."""
        columns = batch.columns_of(self._codec)
        if columns is None:
            return None
        try:
            return self._joined(batch, columns)
        except Exception:
            # Whatever it is: where records are looked at one by one, it is told with the record.
            return None

    def _joined(self, batch: Batch, columns: list[pa.Array]) -> Batch | None:
        keys = self._key(batch)
        if keys is None:
            return None
        found = pc.index_in(_wide(keys), value_set=self._keys)
        stamps = batch.timestamp_column
        if found.null_count:
            if self._keeps_record:
                return None
            has_row = pc.is_valid(found)
            found = found.filter(has_row)
            columns = self._read(0, columns, lambda column: column.filter(has_row), len(found))
            stamps = None if stamps is None else stamps.filter(has_row)
        rows = self._read(1, self._rows, lambda column: column.take(found), len(found))
        made = self._program.columns_of_pairs(columns, rows, len(found))
        return Batch(self._output_codec, columns=made, timestamps=stamps)

    def _read(self, record: int, columns: list[pa.Array], take: Any, count: int) -> list[pa.Array]:
        """Some rows of columns; those that the function does not look at are empty."""
        places = self._places[record]
        return [
            take(column) if places is None or place in places else pa.nulls(count, column.type)
            for place, column in enumerate(columns)
        ]


def _key_of_records(exchange: Exchange, record_type: TypeInformation) -> Any:
    """What makes the column of keys; gives None where there is none."""
    selector = exchange.key_selector
    if isinstance(selector, ExpressionKey):
        _require_column(selector.type)
        return lambda batch: selector.columns(batch)[0]
    if exchange.key_fields:
        _require_column(exchange.key_type)
        assert isinstance(record_type, CompositeTypeInfo)
        place = _place(exchange.key_fields[0], record_type)
        return lambda batch: batch.columns[place]
    assert selector is not None
    traced = selector if isinstance(selector, TracedKey) else TracedKey(selector, record_type, exchange.key_type)
    if traced.program is None:
        raise NotTraceable("the key is a function that is not traced")
    _require_column(traced.type)

    def key(batch: Batch) -> pa.Array | None:
        columns = traced.columns(batch)
        return None if columns is None else columns[0]

    return key


def _only_key(exchange: Exchange, table_type: TypeInformation, columns: list[pa.Array]) -> pa.Array:
    _require_column(exchange.key_type)
    assert isinstance(table_type, CompositeTypeInfo)
    return columns[_place(exchange.key_fields[0], table_type)]


def _require_column(key_type: TypeInformation | None) -> None:
    if key_type not in _INTEGERS and key_type != _TEXT:
        raise NotTraceable(f"keys of the type {key_type!r} are looked up one by one")


def _place(field: str | int, record_type: CompositeTypeInfo) -> int:
    return field if isinstance(field, int) else record_type.get_field_index(field)


def _wide(keys: pa.Array) -> pa.Array:
    return pc.cast(keys, pa.int64()) if pa.types.is_integer(keys.type) else keys
