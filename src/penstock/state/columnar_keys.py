"""Keys of many records as columns and as the bytes that state knows them by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.errors import StateError
from penstock.common.foreign_columns import fitted_column
from penstock.common.typeinfo import BasicType, BasicTypeInfo, TupleTypeInfo, TypeInformation, Types
from penstock.state.key_encoding import NONE_KEY, decode_key, encode_column, encode_key
from penstock.state.key_groups import key_group_range, key_groups_of_keys
from penstock.state.tuple_keys import decode_integer_tuples, encode_tuples, has_tuple_columns

Places = np.ndarray[Any, np.dtype[np.int64]]
_INTEGERS = (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG)
_SAME_IN_COLUMNS = (*_INTEGERS, BasicType.STRING, BasicType.BOOLEAN)
"""Types whose Arrow values are the Python values that keys are encoded from; of floats, 0.0 and -0.0 are one key."""
_TEXT = Types.STRING()
_HEAD_OF_TEXT = 5
"""A tag and the length."""
_ENCODED_INTEGER = np.dtype([("tag", "u1"), ("biased", ">u8")])
_SIGN = np.uint64(1 << 63)


class ColumnarKeys:
    """The keys of one subtask of a keyed operator; None stands for keys of no declared type."""

    def __init__(self, key_type: TypeInformation | None, subtask: int, parallelism: int, max_parallelism: int) -> None:
        self._type = None if key_type is None or key_type.is_pickled else key_type
        self._max_parallelism = max_parallelism
        self._groups = key_group_range(subtask, max_parallelism, parallelism)

    def encode(self, keys: Any) -> tuple[list[bytes], Places | None]:
        """Each distinct key of a column once, and where each row's key is among them; None: they are as given."""
        if self._type is None:
            distinct, places = _encoded([encode_key(key) for key in _listed(keys)])
        else:
            column = fitted_column(keys, self._type)
            if isinstance(self._type, BasicTypeInfo) and self._type.basic_type in _SAME_IN_COLUMNS:
                dictionary = column.dictionary_encode(null_encoding="encode")
                distinct, places = encode_column(dictionary.dictionary), dictionary.indices.to_numpy().astype(np.int64)
            elif has_tuple_columns(self._type) and not column.null_count:
                tuples = encode_tuples(column.flatten())
                distinct, places = tuples.distinct, tuples.codes.astype(np.int64)
            else:
                values = codec_for(TupleTypeInfo([self._type])).to_values([column])
                distinct, places = _encoded([encode_key(value) for (value,) in values])
        self._require_own(distinct)
        return distinct, None if len(places) == len(distinct) else places

    def decode(self, encoded: list[bytes]) -> pa.Array | list[Any]:
        """Encoded keys as a column; as a list where their type is not declared."""
        if self._type is None:
            return [decode_key(key) for key in encoded]
        if self._type == _TEXT:
            texts = [None if key == NONE_KEY else key[_HEAD_OF_TEXT:] for key in encoded]
            return pa.array(texts, pa.binary()).cast(pa.string())
        if isinstance(self._type, BasicTypeInfo) and self._type.basic_type in _INTEGERS:
            data = b"".join(encoded)
            if len(data) == len(encoded) * _ENCODED_INTEGER.itemsize:
                biased = np.frombuffer(data, _ENCODED_INTEGER)["biased"].astype(np.uint64)
                return pa.array((biased ^ _SIGN).view(np.int64)).cast(self._type.arrow_type())
        if isinstance(self._type, TupleTypeInfo) and has_tuple_columns(self._type):
            tuples = decode_integer_tuples(encoded, self._type)
            if tuples is not None:
                return tuples
        return codec_for(TupleTypeInfo([self._type])).to_columns([(decode_key(key),) for key in encoded])[0]

    def _require_own(self, distinct: list[bytes]) -> None:
        if len(self._groups) == self._max_parallelism:
            return
        groups = key_groups_of_keys(distinct, self._max_parallelism)
        foreign = np.flatnonzero((groups < self._groups.start) | (groups >= self._groups.stop))
        if len(foreign):
            raise StateError(
                f"the key {decode_key(distinct[int(foreign[0])])!r} belongs to another subtask: state can be read and "
                "written only for keys of the records that the function got"
            )


def _encoded(keys: list[bytes]) -> tuple[list[bytes], Places]:
    places: dict[bytes, int] = {}
    codes = np.array([places.setdefault(key, len(places)) for key in keys], np.int64)
    return list(places), codes


def _listed(keys: Any) -> list[Any]:
    if isinstance(keys, pa.Array | pa.ChunkedArray):
        return keys.to_pylist()
    return keys.tolist() if isinstance(keys, np.ndarray | pd.Series | pd.Index) else list(keys)
