"""The keys of a batch's records: by column where the key is a field, by the user's function otherwise.

One key must have one encoding, whichever way its record came: a declared key type decides the form of the key (an int
in a DOUBLE field is that double) before it is encoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import length_hint
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.errors import TypeMismatchError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.expressions.evaluator import ExpressionKey, RecordEvaluationError
from penstock.plan.nodes import Exchange
from penstock.state.key_encoding import encode_column, encode_key
from penstock.state.tuple_keys import EXACT_IN_COLUMNS, encode_tuples, has_tuple_columns
from penstock.tracing import TracedKey

_SAME_IN_COLUMNS = (*EXACT_IN_COLUMNS, Types.DOUBLE())
"""Types whose Arrow values are the Python values; others (big numbers are texts, instants structs) are not."""

_MEMOIZED = frozenset({str, int, bytes, bool})


class RecordFailure(Exception):
    """User code outside an operator failed on one record; the cause says how."""

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        self.record = record


def keys_of(batch: Batch, exchange: Exchange) -> DictionaryKeys:
    """The encoded key of every record, each distinct key encoded once."""
    if isinstance(exchange.key_selector, ExpressionKey):
        columns = _computed_columns(batch, exchange.key_selector)
        return _keys_of_columns(batch, columns, exchange.key_selector.type)
    if isinstance(exchange.key_selector, TracedKey):
        columns = exchange.key_selector.columns(batch)
        if columns is not None:
            return _keys_of_columns(batch, columns, exchange.key_selector.type)
    schema = batch.codec.schema
    if batch.is_columnar and schema is not None and exchange.key_fields:
        if len(exchange.key_fields) > 1 and has_tuple_columns(exchange.key_type):
            return encode_tuples([batch.columns[_place(field, schema)] for field in exchange.key_fields])
        if len(exchange.key_fields) == 1 and exchange.key_type in _SAME_IN_COLUMNS:
            return _keys_of_column(batch.columns[_place(exchange.key_fields[0], schema)])
    selected = selected_keys(batch, exchange)
    if exchange.key_type is not None and not exchange.key_type.is_pickled:
        return _typed_keys(batch, selected, exchange.key_type)
    return _encoded(batch, selected)


def _place(field: str | int, schema: pa.Schema) -> int:
    return field if isinstance(field, int) else schema.names.index(field)


def selected_keys(batch: Batch, exchange: Exchange) -> list[Any]:
    """The key of every record as the program sees it."""
    assert exchange.key_selector is not None
    if isinstance(exchange.key_selector, ExpressionKey):
        return codec_for(exchange.key_selector.type).to_values(_computed_columns(batch, exchange.key_selector))
    select, values = exchange.key_selector, iter(batch.values)
    try:
        return [select(value) for value in values]
    except Exception as error:
        raise RecordFailure(batch.values[len(batch) - length_hint(values) - 1]) from error


def _typed_keys(batch: Batch, selected: list[Any], key_type: TypeInformation) -> DictionaryKeys:
    codec = codec_for(key_type)
    try:
        columns = codec.to_columns(selected)
    except TypeMismatchError as error:
        raise RecordFailure(batch.values[error.index or 0]) from error
    if key_type in _SAME_IN_COLUMNS:
        return _keys_of_column(columns[0])
    return _encoded(batch, codec.to_values(columns))


def _computed_columns(batch: Batch, key: ExpressionKey) -> list[pa.Array]:
    try:
        return key.columns(batch)
    except RecordEvaluationError as failure:
        raise RecordFailure(batch.values[failure.index]) from failure.cause


def _keys_of_columns(batch: Batch, columns: list[pa.Array], key_type: TypeInformation | None) -> DictionaryKeys:
    if key_type in _SAME_IN_COLUMNS:
        return _keys_of_column(columns[0])
    if has_tuple_columns(key_type):
        return encode_tuples(columns)
    return _encoded(batch, codec_for(key_type).to_values(columns))


def _keys_of_column(column: pa.Array) -> DictionaryKeys:
    encoded = column.dictionary_encode(null_encoding="encode")
    codes, distinct = encoded.indices.to_numpy().astype(np.int32), encode_column(encoded.dictionary)
    if pa.types.is_floating(column.type):
        # 0.0 and -0.0 are two entries of a dictionary, and one key.
        merged = DictionaryKeys.of(distinct)
        codes, distinct = merged.codes[codes], merged.distinct
    return DictionaryKeys(codes, distinct)


def _encoded(batch: Batch, selected: Iterable[Any]) -> DictionaryKeys:
    positions: dict[bytes, int] = {}
    # Keys of hashable builtin types are encoded once; the class is part of the memo because 1 == 1.0 == True.
    memo: dict[tuple[type, Any], int] = {}
    codes: list[int] = []
    try:
        for key in selected:
            if type(key) in _MEMOIZED:
                identity = (type(key), key)
                code = memo.get(identity)
                if code is None:
                    code = memo[identity] = positions.setdefault(encode_key(key), len(positions))
            else:
                code = positions.setdefault(encode_key(key), len(positions))
            codes.append(code)
    except Exception as error:
        raise RecordFailure(batch.values[len(codes)]) from error
    return DictionaryKeys(np.array(codes, np.int32), list(positions))
