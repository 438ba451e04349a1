"""Formats with PyFlink's names: CSV schemas, Parquet, ORC, generic records; and tables as messages."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from penstock.common import Configuration, Row, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SourceError, UnsupportedError
from penstock.common.serialization import BulkWriterFactory, DeserializationError
from penstock.connectors.files import FileSource, ParquetFormat
from penstock.connectors.files.writers.columnar import ArrowWriters, OrcWriters, ParquetWriters
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.formats.arrow import ArrowDeserializationSchema, ArrowSerializationSchema
from penstock.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema, GenericRecordAvroTypeInfo
from penstock.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvRowDeserializationSchema, CsvSchema
from penstock.datastream.formats.orc import OrcBulkWriters
from penstock.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
    ParquetDeserializationSchema,
    ParquetSerializationSchema,
)

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


def write(path: Path, factory: BulkWriterFactory, type_info, records) -> None:
    with path.open("wb") as file:
        writer = factory.for_records(type_info).create(file)
        writer.write(Batch(codec_for(type_info), values=list(records)))
        writer.finish()


@pytest.fixture
def read(run_source):
    return lambda path, file_format: run_source(FileSource.for_bulk_file_format(file_format, str(path)).build()).epoch()


@pytest.mark.parametrize("writers", [ArrowWriters(), ParquetWriters(), OrcWriters()])
def test_records_that_come_one_by_one_make_the_file_that_they_make_together(tmp_path, writers):
    rows = [Row(id=number, name=f"name {number}") for number in range(2000)]
    sizes = []
    for records_at_once in (1, 2000):
        path = tmp_path / str(records_at_once)
        with path.open("wb") as file:
            writer = writers.for_records(ROW).create(file)
            for start in range(0, 2000, records_at_once):
                writer.write(Batch(codec_for(ROW), values=rows[start : start + records_at_once]))
            writer.finish()
        sizes.append(path.stat().st_size)
    assert sizes[0] < 1.1 * sizes[1]


def schema_builder():
    return CsvSchema.builder().add_number_column("id", "INT").add_string_column("name").add_boolean_column("ok")


def test_a_csv_schema_describes_what_is_written_and_read(tmp_path, read):
    schema = schema_builder().add_array_column("list", ",", "INT").set_column_separator("|").set_use_header().build()
    rows = [Row(id=1, name="a|b", ok=True, list=[1, 2]), Row(id=2, name="", ok=False, list=[])]
    write(tmp_path / "a.csv", CsvBulkWriters.for_schema(schema), schema.row_type, rows)
    assert (tmp_path / "a.csv").read_text() == '"id"|"name"|"ok"|"list"\n1|"a|b"|true|1,2\n2||false|\n'
    assert read(tmp_path / "a.csv", CsvReaderFormat.for_schema(schema)) == rows
    assert len(schema) == schema.size() == 4


def test_csv_that_is_not_plain(tmp_path, read):
    schema = (
        CsvSchema.builder()
        .add_columns_from(schema_builder().build())
        .set_allow_comments()
        .set_escape_char("\\")
        .set_quote_char("'")
        .set_null_value("-")
        .set_skip_first_data_row()
        .set_line_separator("\r\n")
        .build()
    )
    path = tmp_path / "a.csv"
    path.write_text("# a comment\n1,first,true\n2,'x,\\'y',true\n#\n3,-,false\n")
    rows = read(path, CsvReaderFormat.for_schema(schema))
    assert rows == [Row(id=2, name="x,'y", ok=True), Row(id=3, name=None, ok=False)]


def test_a_strict_header_must_have_the_columns_in_their_order(tmp_path, read):
    path = tmp_path / "a.csv"
    path.write_text("name,id,ok\na,1,true\n")
    loose = schema_builder().set_use_header().build()
    assert read(path, CsvReaderFormat.for_schema(loose)) == [Row(id=1, name="a", ok=True)]
    strict = schema_builder().set_use_header().set_strict_headers().build()
    with pytest.raises(SourceError, match=r"the header has the columns \['name', 'id', 'ok'\]"):
        read(path, CsvReaderFormat.for_schema(strict))


def test_csv_files_with_a_header_are_merged(tmp_path):
    factory = CsvBulkWriters.for_schema(schema_builder().set_use_header().build())
    row_type = schema_builder().build().row_type
    for name in ("a", "b"):
        write(tmp_path / name, factory, row_type, [(1, name, True)])
    with (tmp_path / "a").open("rb") as a, (tmp_path / "b").open("rb") as b, (tmp_path / "c").open("wb") as c:
        factory.merge([a, b], c)
    assert (tmp_path / "c").read_text() == "id,name,ok\n1,a,true\n1,b,true\n"


def test_what_a_csv_schema_cannot_be_is_refused():
    with pytest.raises(ConfigurationError, match="at least one column"):
        CsvReaderFormat.for_schema(CsvSchema.builder().build())
    with pytest.raises(ConfigurationError, match="single char"):
        CsvSchema.builder().set_column_separator("||")
    with pytest.raises(UnsupportedError, match="set_any_property_name"):
        CsvSchema.builder().set_any_property_name("rest")


def test_lines_of_csv_are_read_as_columns_and_mean_the_same():
    kind = Types.ROW_NAMED(["n", "t", "f"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
    schema = CsvRowDeserializationSchema.Builder(kind).set_null_literal("null").build()
    plain = [b"1,a,1.5", b"null,null,-2e3", b"-7,\xc3\xbc ,0"]
    assert schema.to_batch(plain, [None] * 3).is_columnar
    one_by_one = [row for line in plain for row in schema.to_batch([line, b'1,"x",2'], [None] * 2).values[:1]]
    assert schema.to_batch(plain, [None] * 3).values == one_by_one
    with pytest.raises(DeserializationError) as problem:
        schema.to_batch([b"1,a,1.5", b"x,a,1"], [None] * 2)
    assert problem.value.index == 1


def test_parquet_by_row_type(tmp_path, read):
    compression = Configuration()
    compression.set_string("parquet.compression", "GZIP")
    factory = ParquetBulkWriters.for_row_type("id BIGINT, price DECIMAL(10, 2)", compression)
    record = Types.TUPLE([Types.LONG(), Types.BIG_DEC()])
    path = tmp_path / "a.parquet"
    write(path, factory, record, [(1, Decimal("2.50"))])
    assert pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(0).compression == "GZIP"
    assert pyarrow.parquet.read_schema(path).field("price").type == pa.decimal128(10, 2)
    assert read(path, ParquetColumnarRowInputFormat("PRICE DECIMAL(10, 2)", is_case_sensitive=False)) == [
        Row(PRICE=Decimal("2.50"))
    ]
    with pytest.raises(SourceError, match="no column PRICE"):
        read(path, ParquetColumnarRowInputFormat("PRICE DECIMAL(10, 2)"))
    with pytest.raises(UnsupportedError, match=r"\['fs.s3a.key'\]"):
        ParquetBulkWriters.for_row_type(ROW, Configuration().set_string("fs.s3a.key", "x"))


def test_parquet_files_that_write_their_columns_in_another_case_than_the_first(tmp_path, read):
    for number, name in enumerate(("id", "ID")):
        pyarrow.parquet.write_table(pa.table({name: [number]}), tmp_path / f"{number}.parquet")
    assert read(tmp_path, ParquetFormat(case_sensitive=False)) == [Row(id=0), Row(id=1)]


def test_a_row_type_of_other_fields_is_refused_where_the_program_is_built():
    with pytest.raises(ConfigurationError, match=r"the files have the columns \['a'\]"):
        ParquetBulkWriters.for_row_type("a INT").for_records(ROW)


def test_orc_by_row_type(tmp_path):
    properties = Configuration().set_string("orc.compress", "SNAPPY")
    path = tmp_path / "a.orc"
    write(path, OrcBulkWriters.for_row_type(ROW, properties), ROW, [(1, "a"), (2, None)])
    file = pyarrow.orc.ORCFile(path)
    assert file.compression == "SNAPPY"
    assert file.read().to_pylist() == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


GENERIC = AvroSchema(
    {
        "type": "record",
        "name": "P",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "at", "type": {"type": "record", "name": "Q", "fields": [{"name": "x", "type": "int"}]}},
        ],
    }
)


def test_generic_records_in_parquet(tmp_path, read):
    records = [{"id": 1, "price": Decimal("2.50"), "tags": ["a"], "at": {"x": 5}}]
    path = tmp_path / "a.parquet"
    write(path, AvroParquetWriters.for_generic_record(GENERIC), GenericRecordAvroTypeInfo(GENERIC), records)
    assert pyarrow.parquet.read_schema(path).field("price").type == pa.decimal128(6, 2)
    assert read(path, AvroParquetReaders.for_generic_record(GENERIC)) == records


def test_an_input_format_is_a_source(tmp_path):
    records = [{"id": 1, "price": Decimal("2.50"), "tags": ["a"], "at": {"x": 5}}]
    write(tmp_path / "a.avro", AvroBulkWriters.for_generic_record(GENERIC), GenericRecordAvroTypeInfo(GENERIC), records)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration().set_string("execution.engine", "local"))
    assert list(env.create_input(AvroInputFormat(str(tmp_path), GENERIC)).execute_and_collect()) == records


@pytest.mark.parametrize(
    ("serialization", "deserialization"),
    [
        (ArrowSerializationSchema, ArrowDeserializationSchema),
        (ParquetSerializationSchema, ParquetDeserializationSchema),
    ],
)
def test_a_message_may_be_a_table(serialization, deserialization):
    message = serialization(ROW).serialize((1, "a"))
    schema = deserialization(ROW)
    batch = schema.to_batch([message, None, message], [5, 6, 7])
    assert batch.values == [Row(id=1, name="a")] * 2
    assert batch.timestamps == [5, 7]
    assert schema.to_batch([], []).values == []
    with pytest.raises(DeserializationError) as problem:
        schema.to_batch([message, b"no table"], [None, None])
    assert problem.value.index == 1
