"""Tables as bounded sources: pandas DataFrames and Arrow tables; Spark DataFrames are handed on to their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.arrow_columns import columns_of
from penstock.connectors.arrow_types import type_of_schema
from penstock.connectors.batches import MAX_BATCH_RECORDS
from penstock.connectors.live_rows import LiveRowsEnumerator, LiveRowsReader
from penstock.connectors.live_source import LiveReader, LiveSource
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.connectors.spark_dataframe import SparkDataFrameSource, is_spark_dataframe

_POSITION = "position"


def dataframe_source(dataframe: Any) -> Source:
    """A source of the rows of a pandas DataFrame (without its index), an Arrow table or a Spark DataFrame."""
    if is_spark_dataframe(dataframe):
        return SparkDataFrameSource(dataframe)
    if isinstance(dataframe, pa.Table):
        return ArrowTableSource(dataframe)
    if isinstance(dataframe, pa.RecordBatch):
        return ArrowTableSource(pa.Table.from_batches([dataframe]))
    if isinstance(dataframe, pd.DataFrame):
        try:
            return ArrowTableSource(pa.Table.from_pandas(dataframe, preserve_index=False))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
            raise ConfigurationError(f"the DataFrame has a column of mixed types: {problem}") from problem
    raise ConfigurationError(
        f"from_dataframe takes a pandas DataFrame, a pyarrow Table or a Spark DataFrame, got {type(dataframe)!r}"
    )


class ArrowTableSource(Source, LiveSource):
    """The rows of an Arrow table, in order, as one split; without a type, the table's schema is the type."""

    def __init__(self, table: pa.Table, type_info: TypeInformation | None = None) -> None:
        self._type_info = type_of_schema(table.schema) if type_info is None else type_info
        schema = codec_for(self._type_info).schema
        # Converted once, here: what does not fit the type fails at the user's line.
        self._table = pa.table(columns_of(table, schema), schema=schema)

    @property
    def table(self) -> pa.Table:
        """The rows, in the columns of the type."""
        return self._table

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _TableEnumerator(self._table, context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _TableReader(self)

    def create_live_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return LiveRowsEnumerator(self._table.num_rows, context)

    def create_live_reader(self) -> LiveReader:  # noqa: D102
        return LiveRowsReader(self.create_reader())

    def describe(self) -> str:  # noqa: D102
        return f"table of {self._table.num_rows} rows"


class _TableEnumerator(SplitEnumerator):
    def __init__(self, table: pa.Table, context: EnumeratorContext) -> None:
        self._rows: int = table.num_rows
        self._bytes_per_row = max(1, table.nbytes // max(1, table.num_rows))
        self._state = context.state

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        start: int = self._state.get(_POSITION, 0)
        if start >= self._rows:
            return []
        affordable = max(1, min(budget.max_records, budget.max_bytes // self._bytes_per_row))
        end = min(self._rows, start + affordable)
        self._state[_POSITION] = end
        return [SplitRead("0", start, end, finishes=end == self._rows, size=end - start)]

    def is_exhausted(self) -> bool:
        return self._state.get(_POSITION, 0) >= self._rows


class _TableReader(SplitReader):
    def __init__(self, source: ArrowTableSource) -> None:
        self._table = source.table
        self._codec = codec_for(source.produced_type)

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        assert read.end is not None
        rows = self._table.slice(read.start, read.end - read.start)
        for batch in rows.to_batches(max_chunksize=MAX_BATCH_RECORDS):
            yield Batch(self._codec, columns=batch.columns)
        self.position = read.end
        self.finished = read.finishes
