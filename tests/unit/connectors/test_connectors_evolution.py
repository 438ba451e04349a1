"""How data may change, format by format: what docs/connectors/formats.md says of fields that come, go and change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from penstock.common import Configuration
from penstock.common.errors import PenstockError
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    ArrowFormat,
    AvroFormat,
    CsvFormat,
    FileSource,
    JsonLinesFormat,
    OrcFormat,
    ParquetFormat,
)

ROW = "id BIGINT, name STRING"
Write = Callable[[Path, pa.Table], None]


def write_json(path: Path, table: pa.Table) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def write_csv(path: Path, table: pa.Table, *, header: bool) -> None:
    lines = [",".join(map(str, row.values())) for row in table.to_pylist()]
    path.write_text("\n".join([",".join(table.column_names), *lines] if header else lines) + "\n")


def write_arrow(path: Path, table: pa.Table) -> None:
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def write_avro(path: Path, table: pa.Table) -> None:
    kinds = {pa.int64(): "long", pa.int32(): "int", pa.string(): "string"}
    fields = [{"name": field.name, "type": kinds[field.type]} for field in table.schema]
    with path.open("wb") as file:
        fastavro.writer(
            file, fastavro.parse_schema({"type": "record", "name": "R", "fields": fields}), table.to_pylist()
        )


FORMATS: dict[str, tuple[Any, Write]] = {
    "json": (JsonLinesFormat(ROW), write_json),
    "csv-header": (CsvFormat(ROW, header=True), lambda path, table: write_csv(path, table, header=True)),
    "csv": (CsvFormat(ROW), lambda path, table: write_csv(path, table, header=False)),
    "avro": (AvroFormat(ROW), write_avro),
    "parquet": (ParquetFormat(ROW), lambda path, table: pyarrow.parquet.write_table(table, path)),
    "orc": (OrcFormat(ROW), lambda path, table: pyarrow.orc.write_table(table, str(path))),
    "arrow": (ArrowFormat(ROW), write_arrow),
}
ADDED = pa.table({"id": pa.array([1], pa.int64()), "name": ["a"], "extra": ["x"]})
GONE = pa.table({"id": pa.array([1], pa.int64())})
WIDENED = pa.table({"id": pa.array([1], pa.int32()), "name": ["a"]})
OTHER = pa.table({"id": ["one"], "name": ["a"]})


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        ("json", ADDED, (1, "a")),
        ("json", GONE, (1, None)),
        ("json", OTHER, "id"),
        ("csv-header", ADDED, (1, "a")),
        ("csv-header", GONE, "name"),
        ("csv-header", OTHER, "one"),
        ("csv", ADDED, "3"),
        ("csv", GONE, "1"),
        ("csv", OTHER, "one"),
        ("avro", ADDED, (1, "a")),
        ("avro", GONE, (1, None)),
        ("avro", WIDENED, (1, "a")),
        ("avro", OTHER, "id"),
        ("parquet", ADDED, (1, "a")),
        ("parquet", GONE, "name"),
        ("parquet", WIDENED, (1, "a")),
        ("parquet", OTHER, "id"),
        ("orc", ADDED, (1, "a")),
        ("orc", GONE, "name"),
        ("orc", WIDENED, (1, "a")),
        ("orc", OTHER, "id"),
        ("arrow", ADDED, (1, "a")),
        ("arrow", GONE, "name"),
        ("arrow", WIDENED, (1, "a")),
        ("arrow", OTHER, "id"),
    ],
)
def test_fields_that_come_go_and_change(tmp_path: Path, kind: str, change: pa.Table, expected: Any) -> None:
    file_format, write = FORMATS[kind]
    write(tmp_path / "data", change)
    configuration = Configuration().set_string("execution.engine", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    rows = env.from_source(FileSource(str(tmp_path), file_format))
    if isinstance(expected, tuple):
        assert [tuple(row) for row in rows.execute_and_collect()] == [expected]
    else:
        with pytest.raises(PenstockError, match=expected):
            list(rows.execute_and_collect())
