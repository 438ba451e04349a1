"""Spark DataFrames as bounded sources: written to the checkpoint once, and read from there ever after."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.errors import CheckpointError, ConfigurationError, PlanError, SourceError, UnsupportedError
from penstock.common.typeinfo import RowTypeInfo
from penstock.connectors.arrow_columns import columns_of
from penstock.connectors.arrow_types import type_of_schema
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.formats.parquet import ParquetFormat
from penstock.connectors.source import Boundedness, EnumeratorContext, Source, SplitEnumerator, SplitReader

_ROWS = "rows"
_UNFINISHED = "unfinished-"
_UNREADABLE = re.compile(r"\b(variant|interval|time|geometry|geography)\b(?!:)")
"""What Arrow or Parquet cannot hold as Spark does, wherever it is inside a column's type; not fields of such names."""


def is_spark_dataframe(value: Any) -> bool:
    """Whether a value is a DataFrame of PySpark, whatever kind; PySpark need not be there to ask."""
    kind = type(value)
    return kind.__module__.startswith("pyspark.sql.") and hasattr(kind, "toArrow")


class SparkDataFrameSource(Source):
    """The rows of a Spark DataFrame, as Spark computes them when the job first starts.

    A DataFrame is a recipe: computed again it may give other rows. So its rows are written to the job's checkpoint
    before the first epoch, and a restart reads those. Timestamps with a time zone become their time in UTC.
    """

    is_prepared = False

    def __init__(self, dataframe: Any) -> None:
        if type(dataframe).__module__.startswith("pyspark.sql.connect"):
            raise UnsupportedError(
                "this is a DataFrame of Spark Connect; from_dataframe reads those of a classic session "
                "(SparkSession.builder.master(...).getOrCreate()). If it is small, pass `dataframe.toArrow()`."
            )
        if dataframe.isStreaming:
            raise UnsupportedError(
                "this is a streaming DataFrame, which only Spark's own streaming queries can read. Read where it "
                "comes from: env.from_source(...) with a KafkaSource, or a FileSource with `watch`."
            )
        self._dataframe = dataframe
        self._type_info = _record_type(dataframe)

    @property
    def position_kind(self) -> str:
        """That of the source that it is `prepared` as."""
        return FileSource.__name__

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> RowTypeInfo:  # noqa: D102
        return self._type_info

    def prepared(self, directory: str) -> Source:
        """A source of the rows in `directory`, which are written there unless they are complete already."""
        rows = Path(directory, _ROWS)
        if not rows.exists():
            self._write(rows)
        self._require_same_columns(rows)
        return FileSource(str(rows), ParquetFormat(self._type_info))

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        self._refuse()

    def create_reader(self) -> SplitReader:  # noqa: D102
        self._refuse()

    def describe(self) -> str:  # noqa: D102
        return f"Spark DataFrame of {', '.join(self._type_info.get_field_names())}"

    def __reduce__(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise PlanError("a Spark DataFrame lives in the driver: its source is sent to tasks as `prepared` returns it")

    def _write(self, rows: Path) -> None:
        rows.parent.mkdir(parents=True, exist_ok=True)
        for leftover in rows.parent.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        unfinished = rows.with_name(f"{_UNFINISHED}{uuid.uuid4().hex}")
        try:
            # Not `as_uri()`: Hadoop takes what stands there as it is, so spaces must not become %20.
            self._dataframe.write.parquet(f"file://{unfinished.absolute()}")
        except Exception as problem:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise SourceError(
                f"the rows of the {self.describe()} cannot be written to {rows}: {_first_line(problem)}"
            ) from problem
        if not unfinished.is_dir():
            raise CheckpointError(
                f"Spark has written the rows of the {self.describe()} to {unfinished}, and they are not there: choose "
                "a checkpoint directory on a file system that the driver and all workers see."
            )
        _make_durable(unfinished)
        try:
            unfinished.rename(rows)
        except OSError:
            shutil.rmtree(unfinished, ignore_errors=True)
            if not rows.exists():
                raise
            # Another driver was faster: its rows stay, for both.
        _sync(rows.parent)

    def _require_same_columns(self, rows: Path) -> None:
        written = FileSource(str(rows), ParquetFormat()).produced_type
        if written.exact_key() != self._type_info.exact_key():
            raise CheckpointError(
                f"the checkpoint holds the rows of a DataFrame with other columns in {rows}: {written!r}; the program "
                f"has {self._type_info!r}. A restarted job reads the rows of its first start: use the program that "
                "wrote them, or another checkpoint directory."
            )


def _record_type(dataframe: Any) -> RowTypeInfo:
    if not dataframe.columns:
        raise ConfigurationError("the Spark DataFrame has no columns: select at least one")
    for name, spark_type in dataframe.dtypes:
        if _UNREADABLE.search(spark_type):
            raise UnsupportedError(f"column {name}: Spark's {spark_type} has no type of ours; convert the column first")
    empty: pa.Table = dataframe.limit(0).toArrow()
    record_type = type_of_schema(empty.schema)
    # Whatever cannot be converted fails here, at the user's line, and not in a task.
    columns_of(empty, codec_for(record_type).schema)
    return record_type


def _first_line(problem: Exception) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0]


def _make_durable(directory: Path) -> None:
    for path in directory.rglob("*"):
        _sync(path)
    _sync(directory)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
