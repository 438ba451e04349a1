"""Columns that a program made, with Arrow, NumPy, pandas or as a list, in the columns of a declared type.

What fits without loss is converted: an int of 32 bits where 64 are declared, whole floats where integers are. What
would become something else, a number where a text is declared, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from penstock.common.calendar_columns import is_within_calendar
from penstock.common.codecs import codec_for
from penstock.common.errors import TypeMismatchError
from penstock.common.kernels import pc
from penstock.common.typeinfo import BasicType, BasicTypeInfo, CompositeTypeInfo, TupleTypeInfo, TypeInformation

_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)
_AS_TEXT = (BasicType.BIG_INT, BasicType.BIG_DEC)


def fitted_column(values: Any, type_info: TypeInformation) -> pa.Array:
    """The values in the column of a type; raises `TypeMismatchError` that says why they do not fit."""
    wanted = type_info.column_type()
    try:
        if isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _AS_TEXT:
            return _numbers_as_text(values, type_info)
        if isinstance(type_info, CompositeTypeInfo) and isinstance(values, list | tuple) and not _has_dicts(values):
            return codec_for(TupleTypeInfo([type_info])).to_columns([(value,) for value in values])[0]
        column = _plain(_array(values, wanted))
        if not column.type.equals(wanted):
            if not _may_become(column.type, wanted):
                raise TypeMismatchError(f"it holds {column.type}, and the declared type {type_info!r} is {wanted}")
            column = pc.cast(column, wanted)
        if not is_within_calendar(column):
            raise TypeMismatchError("it has a time beyond the years 1 and 9999, which is none of Python's")
        if isinstance(type_info, BasicTypeInfo) and type_info.basic_type is BasicType.CHAR:
            codec_for(type_info).to_columns(column.to_pylist())
    except TypeMismatchError:
        raise
    except _ERRORS as error:
        raise TypeMismatchError(f"it does not fit the declared type {type_info!r}: {error}") from None
    return column


def _array(values: Any, wanted: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, np.ma.MaskedArray):
        return pa.array(values.data, mask=np.ma.getmaskarray(values))
    if isinstance(values, np.ndarray) and values.ndim == 0:
        raise TypeMismatchError(f"expected an array with a value for each row, got the one value {values!r}")
    if not isinstance(values, np.ndarray | pd.Series | pd.Index | list | tuple | pd.api.extensions.ExtensionArray):
        raise TypeMismatchError(f"expected an Arrow array, a NumPy array, a pandas Series or a list, got {values!r}")
    is_pandas = not isinstance(values, np.ndarray | list | tuple)
    # A type would let Arrow cut 1.5 to 1; without one, it makes structs of dicts where maps are meant.
    return pa.array(values, wanted if _has_maps(wanted) else None, from_pandas=is_pandas)


def _has_dicts(values: Sequence[Any]) -> bool:
    """Whether Arrow makes structs of the values; rows, tuples and objects it does not know."""
    return any(isinstance(value, Mapping) for value in values)


def _has_maps(data_type: pa.DataType) -> bool:
    if pa.types.is_struct(data_type):
        return any(_has_maps(field.type) for field in data_type)
    return pa.types.is_map(data_type) or (pa.types.is_list(data_type) and _has_maps(data_type.value_type))


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def _numbers_as_text(values: Any, type_info: BasicTypeInfo) -> pa.Array:
    """Numbers of any size travel as text; what no such number is raises when it is read."""
    codec = codec_for(TupleTypeInfo([type_info]))
    if isinstance(values, list | tuple):
        return codec.to_columns([(value,) for value in values])[0]
    column = _plain(_array(values, pa.string()))
    if pa.types.is_integer(column.type) or (
        pa.types.is_decimal(column.type) and type_info.basic_type is BasicType.BIG_DEC
    ):
        return pc.cast(column, pa.string())
    if _is_text(column.type):
        return codec.to_columns(codec.to_values([pc.cast(column, pa.string())]))[0]
    return codec.to_columns([(value,) for value in column.to_pylist()])[0]


def _may_become(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of one type, where a safe cast succeeds, are still the same values."""
    if pa.types.is_null(given):
        return True
    if pa.types.is_timestamp(wanted):
        return pa.types.is_timestamp(given) and given.tz is None
    if _is_list(wanted):
        return _is_list(given) and _may_become(given.value_type, wanted.value_type)
    if pa.types.is_struct(wanted):
        # A cast would make nulls of fields that are not there.
        if not pa.types.is_struct(given) or [field.name for field in given] != [field.name for field in wanted]:
            return False
        return all(_may_become(field.type, wanted.field(field.name).type) for field in given)
    return any(kind(wanted) and kind(given) for kind in _KINDS)


def _is_number(data_type: pa.DataType) -> bool:
    return pa.types.is_integer(data_type) or pa.types.is_floating(data_type)


def _is_list(data_type: pa.DataType) -> bool:
    return pa.types.is_list(data_type) or pa.types.is_large_list(data_type) or pa.types.is_fixed_size_list(data_type)


def _is_text(data_type: pa.DataType) -> bool:
    return pa.types.is_string(data_type) or pa.types.is_large_string(data_type) or pa.types.is_string_view(data_type)


def _is_bytes(data_type: pa.DataType) -> bool:
    return (
        pa.types.is_binary(data_type) or pa.types.is_large_binary(data_type) or pa.types.is_fixed_size_binary(data_type)
    )


_KINDS = (_is_number, _is_text, _is_bytes, pa.types.is_boolean, pa.types.is_date, pa.types.is_time, pa.types.is_map)
