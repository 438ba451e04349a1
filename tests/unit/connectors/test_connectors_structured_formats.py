from __future__ import annotations

import datetime
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from penstock.common.errors import ConfigurationError, SourceError, UnsupportedError
from penstock.common.row import Row
from penstock.common.typeinfo import Types
from penstock.connectors.files import CsvFormat, FileSource, JsonLinesFormat, ParquetFormat

PAYMENT = Types.ROW_NAMED(["id", "card"], [Types.LONG(), Types.STRING()])


def read(run_source, path: Path, file_format, **options):
    run = run_source(FileSource(str(path), file_format), **options)
    return [record for epoch in run.epochs() for record in epoch]


# --- JSON


def test_json_lines_are_rows(tmp_path, run_source):
    (tmp_path / "p.json").write_text('{"id": 1, "card": "a"}\n\n{"id": 2}')
    assert read(run_source, tmp_path, JsonLinesFormat(PAYMENT)) == [Row(id=1, card="a"), Row(id=2, card=None)]


def test_json_without_a_type_gives_python_objects(tmp_path, run_source):
    (tmp_path / "p.json").write_text('{"id": 1, "more": [1]}\n[2]\n')
    assert read(run_source, tmp_path, JsonLinesFormat()) == [{"id": 1, "more": [1]}, [2]]


@pytest.mark.parametrize("file_format", [JsonLinesFormat(PAYMENT), JsonLinesFormat()])
def test_a_broken_line_is_named_with_file_position_and_reason(tmp_path, run_source, file_format):
    (tmp_path / "p.json").write_text('{"id": 1}\n\n{"id": oops}\n')
    with pytest.raises(SourceError, match=r'(?s)p.json: the line at byte 11 .*no valid JSON.*line: {"id": oops}'):
        read(run_source, tmp_path, file_format)


def test_json_files_are_cut_into_chunks_that_give_each_object_once(tmp_path, run_source):
    objects = [{"id": number, "card": "€" * (number % 7)} for number in range(500)]
    (tmp_path / "p.json").write_text("\n".join(map(json.dumps, objects)))
    run = run_source(FileSource(str(tmp_path), JsonLinesFormat(PAYMENT)), parallelism=2)
    read_rows = [row for epoch in run.epochs(size=333) for row in epoch]
    assert [row.as_dict() for row in read_rows] == objects


# --- CSV


def test_csv_without_a_header_has_the_fields_in_their_order(tmp_path, run_source):
    (tmp_path / "p.csv").write_text('1,a\n2,"b ""x"",\nc"\n,\n')
    assert read(run_source, tmp_path, CsvFormat(PAYMENT)) == [
        Row(id=1, card="a"),
        Row(id=2, card='b "x",\nc'),
        Row(id=None, card=""),
    ]


def test_a_header_names_the_columns(tmp_path, run_source):
    (tmp_path / "p.csv").write_text("other;card;id\nx;a;1\n")
    assert read(run_source, tmp_path, CsvFormat(PAYMENT, header=True, delimiter=";")) == [Row(id=1, card="a")]


def test_a_null_literal_is_none_unless_it_is_quoted(tmp_path, run_source):
    (tmp_path / "p.csv").write_text('\\N,\\N\n1,"\\N"\n')
    assert read(run_source, tmp_path, CsvFormat(PAYMENT, null_literal="\\N")) == [
        Row(id=None, card=None),
        Row(id=1, card="\\N"),
    ]


def test_csv_has_dates_numbers_and_booleans(tmp_path, run_source):
    type_info = Types.ROW_NAMED(
        ["d", "t", "b", "f", "n"],
        [Types.SQL_DATE(), Types.SQL_TIMESTAMP(), Types.BOOLEAN(), Types.FLOAT(), Types.BIG_DEC()],
    )
    (tmp_path / "p.csv").write_text("2024-01-02,2024-01-02 03:04:05.5,true,1.5,2.50\n")
    (row,) = read(run_source, tmp_path, CsvFormat(type_info))
    assert row.d == datetime.date(2024, 1, 2)
    assert row.t == datetime.datetime(2024, 1, 2, 3, 4, 5, 500000)
    assert (row.b, row.f, str(row.n)) == (True, 1.5, "2.50")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("1,a\nx,b\n", r"p.csv: .*Row #2: CSV conversion error to int64: invalid value 'x'"),
        ("1,a\n2\n", r"p.csv: .*Expected 2 columns, got 1"),
    ],
)
def test_csv_that_does_not_fit_is_an_error(tmp_path, run_source, content, reason):
    (tmp_path / "p.csv").write_text(content)
    with pytest.raises(SourceError, match=reason):
        read(run_source, tmp_path, CsvFormat(PAYMENT))


def test_a_header_without_a_field_is_an_error(tmp_path, run_source):
    (tmp_path / "p.csv").write_text("id\n1\n")
    with pytest.raises(SourceError, match=r"p.csv: .*card"):
        read(run_source, tmp_path, CsvFormat(PAYMENT, header=True))


def test_an_empty_csv_file_has_no_records(tmp_path, run_source):
    (tmp_path / "p.csv").write_text("")
    assert read(run_source, tmp_path, CsvFormat(PAYMENT, header=True)) == []


def test_compressed_csv_and_json_are_decompressed(tmp_path, run_source):
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(b"1,a\n"))
    (tmp_path / "p.json.gz").write_bytes(gzip.compress(b'{"id": 2, "card": "b"}\n'))
    assert read(run_source, tmp_path / "p.csv.gz", CsvFormat(PAYMENT)) == [Row(id=1, card="a")]
    assert read(run_source, tmp_path / "p.json.gz", JsonLinesFormat(PAYMENT)) == [Row(id=2, card="b")]


def test_types_that_csv_cannot_hold_are_refused():
    with pytest.raises(UnsupportedError, match="field x"):
        CsvFormat(Types.ROW_NAMED(["x"], [Types.LIST(Types.INT())]))
    with pytest.raises(ConfigurationError, match="fields"):
        CsvFormat(Types.LONG())


# --- Parquet


def write_parquet(path: Path, rows: int = 1000) -> list[dict[str, object]]:
    table = pa.table({"id": pa.array(range(rows), pa.int64()), "card": [f"card {n % 13}" for n in range(rows)]})
    pyarrow.parquet.write_table(table, path, row_group_size=100)
    return table.to_pylist()


def test_parquet_has_its_own_schema(tmp_path, run_source):
    rows = write_parquet(tmp_path / "p.parquet")
    source = FileSource(str(tmp_path), ParquetFormat())
    assert source.produced_type == PAYMENT
    assert [row.as_dict() for row in run_source(source).epoch()] == rows


def test_row_groups_are_read_once_however_the_file_is_cut(tmp_path, run_source):
    rows = write_parquet(tmp_path / "p.parquet")
    run = run_source(FileSource(str(tmp_path), ParquetFormat()), parallelism=3)
    epochs = list(run.epochs(size=1500))
    assert len(epochs) > 3
    assert [row.as_dict() for epoch in epochs for row in epoch] == rows


def test_a_type_chooses_and_casts_columns(tmp_path, run_source):
    write_parquet(tmp_path / "p.parquet", rows=2)
    type_info = Types.ROW_NAMED(["id"], [Types.INT()])
    assert read(run_source, tmp_path, ParquetFormat(type_info)) == [Row(id=0), Row(id=1)]


def test_parquet_that_does_not_fit_is_an_error(tmp_path, run_source):
    write_parquet(tmp_path / "p.parquet", rows=2)
    with pytest.raises(SourceError, match=r"p.parquet: .*no column price.*id.*card"):
        read(run_source, tmp_path, ParquetFormat(Types.ROW_NAMED(["price"], [Types.INT()])))
    (tmp_path / "broken.parquet").write_text("no parquet")
    with pytest.raises(SourceError, match=r"broken.parquet: cannot be read as Parquet"):
        read(run_source, tmp_path / "broken.parquet", ParquetFormat(PAYMENT))


@pytest.mark.parametrize(
    "times",
    [
        pa.array([253_402_300_800_000_000]).cast(pa.timestamp("us")),
        pa.array([-719_163], pa.int32()).cast(pa.date32()),
        pa.array([[253_402_300_800_000_000]]).cast(pa.list_(pa.timestamp("us"))),
        pa.StructArray.from_arrays([pa.array([-719_163], pa.int32()).cast(pa.date32())], ["day"]),
    ],
)
def test_times_that_python_does_not_have_are_an_error(tmp_path, run_source, times):
    pyarrow.parquet.write_table(pa.table({"at": times}), tmp_path / "p.parquet")
    with pytest.raises(SourceError, match=r"p.parquet: column at has a time beyond the years 1 and 9999"):
        read(run_source, tmp_path, ParquetFormat())


def test_parquet_without_files_needs_a_type(tmp_path):
    with pytest.raises(ConfigurationError, match="pass type_info"):
        FileSource(str(tmp_path), ParquetFormat())
