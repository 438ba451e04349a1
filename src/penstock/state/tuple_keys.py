"""Keys of several columns: the bytes of the tuples that their values make up, without a Python tuple for each."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.dictionary_keys import DictionaryKeys, Places, first_rows
from penstock.common.typeinfo import TupleTypeInfo, TypeInformation, Types
from penstock.state.key_encoding import encode_column

EXACT_IN_COLUMNS = (
    Types.STRING(),
    Types.BOOLEAN(),
    Types.BYTE(),
    Types.SHORT(),
    Types.INT(),
    Types.LONG(),
    Types.SQL_DATE(),
)
"""Types whose Arrow values are the Python values, and are one key only where they are the same bits."""

_TUPLE = Struct(">BI")
_TUPLE_TAG, _INTEGER_TAG = 0x0D, 3
_ENCODED_INTEGER = np.dtype([("tag", "u1"), ("biased", ">u8")])
_SIGN = np.uint64(1 << 63)


def has_tuple_columns(key_type: TypeInformation | None) -> bool:
    """Whether keys of the type are tuples of values that columns say exactly."""
    return type(key_type) is TupleTypeInfo and all(part in EXACT_IN_COLUMNS for part in key_type.get_field_types())


def encode_tuples(columns: Sequence[pa.Array]) -> DictionaryKeys:
    """The same bytes as `encode_key` of the tuple of each row: every distinct one is encoded once."""
    parts = [column.dictionary_encode(null_encoding="encode") for column in columns]
    codes, size = parts[0].indices.to_numpy(), len(parts[0].dictionary)
    for part in parts[1:]:
        pairs = codes.astype(np.int64) * len(part.dictionary) + part.indices.to_numpy()
        numbered = pa.array(pairs).dictionary_encode()
        codes, size = numbered.indices.to_numpy(), len(numbered.dictionary)
    firsts = first_rows(codes, size)
    if all(pa.types.is_integer(column.type) and not column.null_count for column in columns):
        distinct = _integer_tuples([column.to_numpy()[firsts] for column in columns])
    else:
        distinct = _joined_tuples(parts, firsts)
    return DictionaryKeys(codes.astype(np.int32), distinct)


def _integer_tuples(columns: Sequence[Any]) -> list[bytes]:
    layout = _layout(len(columns))
    encoded = np.empty(len(columns[0]), layout)
    encoded["head"] = np.frombuffer(_TUPLE.pack(_TUPLE_TAG, len(columns)), np.uint8)
    for place, column in enumerate(columns):
        part = encoded[str(place)]
        part["tag"] = _INTEGER_TAG
        part["biased"] = column.astype(np.int64).view(np.uint64) ^ _SIGN
    data, width = encoded.tobytes(), layout.itemsize
    return [data[start : start + width] for start in range(0, len(data), width)]


def _joined_tuples(parts: Sequence[pa.DictionaryArray], first_rows: Places) -> list[bytes]:
    columns: list[list[bytes]] = []
    for part in parts:
        encoded = encode_column(part.dictionary)
        columns.append(list(map(encoded.__getitem__, part.indices.to_numpy()[first_rows].tolist())))
    head = _TUPLE.pack(_TUPLE_TAG, len(parts))
    return [head + b"".join(items) for items in zip(*columns, strict=True)]


def decode_integer_tuples(encoded: Sequence[bytes], key_type: TupleTypeInfo) -> pa.Array | None:
    """Encoded tuples of integers as a column of structs; None where one of their items is something else."""
    fields = key_type.arrow_fields()
    layout = _layout(len(fields))
    data = b"".join(encoded)
    if not all(pa.types.is_integer(field.type) for field in fields) or len(data) != len(encoded) * layout.itemsize:
        return None
    entries = np.frombuffer(data, layout)
    parts = [entries[str(place)] for place in range(len(fields))]
    if any((part["tag"] != _INTEGER_TAG).any() for part in parts):
        return None
    columns = [
        pa.array((part["biased"].astype(np.uint64) ^ _SIGN).view(np.int64)).cast(field.type)
        for part, field in zip(parts, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(columns, fields=fields)


def _layout(count: int) -> np.dtype[Any]:
    integers = [(str(place), _ENCODED_INTEGER) for place in range(count)]
    return np.dtype([("head", "u1", (_TUPLE.size,)), *integers])
