"""What functions of batches get, and what is made of the batches that they return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from penstock.common.codecs import VALUE_COLUMN, codec_for
from penstock.common.errors import TypeMismatchError
from penstock.common.foreign_columns import fitted_column
from penstock.common.nested_columns import columns_inside
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation, Types
from penstock.functions.batches import BatchFormat

_NULLABLE: dict[pa.DataType, Any] = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}
"""pandas' types for what would become floats or objects where values are missing."""

_ARRAYS = (pa.Array, pa.ChunkedArray, np.ndarray, pd.Series, pd.Index)
_BATCHES = (pa.RecordBatch, pa.Table, pd.DataFrame, Mapping)


class GivenBatches:
    """Makes the batches that a function gets: a column per field, and one for timestamps where it wants them."""

    def __init__(self, record_type: TypeInformation, batch_format: BatchFormat, timestamp_column: str | None) -> None:
        schema = codec_for(record_type).schema
        assert schema is not None
        if timestamp_column is not None:
            schema = schema.append(pa.field(timestamp_column, pa.int64()))
        self._schema: pa.Schema = schema
        self._format = batch_format

    def of(self, columns: list[pa.Array]) -> Any:
        """The batch of these columns."""
        if self._format is BatchFormat.ARROW:
            return pa.RecordBatch.from_arrays(columns, schema=self._schema)
        form = _as_pandas if self._format is BatchFormat.PANDAS else _as_numpy
        named = {name: form(column) for name, column in zip(self._schema.names, columns, strict=True)}
        # Copied: Arrow's memory cannot be written to, and data frames are.
        return pd.DataFrame(named, copy=True) if self._format is BatchFormat.PANDAS else named


def _as_pandas(column: pa.Array) -> pd.Series:
    if _has_inside(column, _has_missing_integers):
        return pd.Series(_objects(column), dtype=object)
    return column.to_pandas(types_mapper=_NULLABLE.get) if column.null_count else column.to_pandas()


def _as_numpy(column: pa.Array) -> np.ndarray[Any, Any]:
    if _has_inside(column, _is_changed_by_numpy):
        return _objects(column)
    is_boolean = pa.types.is_boolean(column.type)
    if column.null_count and (is_boolean or pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        values = column.fill_null(False if is_boolean else 0).to_numpy(zero_copy_only=False)
        return np.ma.MaskedArray(values, column.is_null().to_numpy(zero_copy_only=False))
    return column.to_numpy(zero_copy_only=False)


def _has_missing_integers(column: pa.Array) -> bool:
    """Whether Arrow would make floats of integers, for one of them is missing."""
    return pa.types.is_integer(column.type) and bool(column.null_count)


def _is_changed_by_numpy(column: pa.Array) -> bool:
    """Whether Arrow would make NaN of a missing number, which is a number to NumPy, or what it cannot read back."""
    is_missing_float = pa.types.is_floating(column.type) and bool(column.null_count)
    return is_missing_float or _has_missing_integers(column) or pa.types.is_date(column.type)


def _has_inside(column: pa.Array, is_such: Callable[[pa.Array], bool]) -> bool:
    """Whether there is such a column in lists, rows and maps."""
    return any(is_such(part) or _has_inside(part, is_such) for part in columns_inside(column))


def _objects(column: pa.Array) -> np.ndarray[Any, Any]:
    values = np.empty(len(column), object)
    for place, value in enumerate(column.to_pylist()):
        values[place] = value
    return values


class TakenBatches:
    """Makes columns of a declared type of the batches that a function returns."""

    def __init__(self, record_type: TypeInformation, timestamp_column: str | None) -> None:
        self._type = record_type
        if isinstance(record_type, CompositeTypeInfo):
            self._fields = dict(zip(record_type.get_field_names(), record_type.get_field_types(), strict=True))
        else:
            self._fields = {VALUE_COLUMN: record_type}
        self._timestamp_column = timestamp_column
        if timestamp_column is not None:
            self._fields[timestamp_column] = Types.LONG()

    def columns_of(self, result: Any) -> tuple[list[pa.Array], pa.Array | None]:
        """The columns in the order of the type, and the timestamps where the function gives them."""
        named = self._named(result)
        missing = [name for name in self._fields if name not in named]
        if missing:
            raise TypeMismatchError(f"the batch that the function returned has no column {_listed(missing)}; {self}")
        unknown = [name for name in named if name not in self._fields]
        if unknown:
            raise TypeMismatchError(
                f"the batch that the function returned has the column {_listed(unknown)}, which is not declared; "
                f"{self}. Drop it, or declare it: `output_type=`"
            )
        columns: dict[str, pa.Array] = {}
        for name, field_type in self._fields.items():
            try:
                columns[name] = fitted_column(named[name], field_type)
            except TypeMismatchError as error:
                raise TypeMismatchError(
                    f"column {name!r} of the batch that the function returned: {error}", field=name
                ) from None
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
            raise TypeMismatchError(f"the columns of the batch that the function returned differ in length: {shown}")
        stamps = None if self._timestamp_column is None else columns.pop(self._timestamp_column)
        return list(columns.values()), stamps

    def __str__(self) -> str:
        return f"the declared type {self._type!r} has the columns {_listed(self._fields)}"

    def _named(self, result: Any) -> Mapping[Any, Any]:
        if isinstance(result, pa.RecordBatch | pa.Table):
            if len(set(result.schema.names)) != len(result.schema.names):
                raise TypeMismatchError(
                    f"the batch that the function returned has a column twice: {result.schema.names}"
                )
            return dict(zip(result.schema.names, result.columns, strict=True))
        if isinstance(result, pd.DataFrame):
            if not result.columns.is_unique:
                raise TypeMismatchError(f"the data frame that the function returned has a column twice: {list(result)}")
            return {name: result[name] for name in result.columns}
        if isinstance(result, Mapping):
            return result
        if isinstance(result, _ARRAYS) and not isinstance(self._type, CompositeTypeInfo):
            return {VALUE_COLUMN: result}
        raise TypeMismatchError(
            f"the function returned {type(result).__qualname__}; expected a pyarrow RecordBatch or Table, a pandas "
            "DataFrame or a dict of arrays, several of them yielded, or None"
        )


def is_one_batch(returned: Any) -> bool:
    """Whether a function has returned one batch; else it may be several."""
    return isinstance(returned, (*_BATCHES, *_ARRAYS))


def batches_in(returned: Any) -> Iterator[Any]:
    """The batches that a function returned or yields."""
    return iter(()) if returned is None else iter((returned,) if is_one_batch(returned) else returned)


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names))
