"""Avro messages, with and without a registry, and files."""

from __future__ import annotations

import json
import pickle
import socket
import threading
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fastavro
import pytest

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SinkError, SourceError, TypeMismatchError, UnsupportedError
from penstock.common.row import Row
from penstock.common.serialization import DeserializationError
from penstock.common.typeinfo import Types
from penstock.connectors.declared_rows import DeclaredRow
from penstock.connectors.files import AvroFormat, FileSource
from penstock.datastream.formats.avro import (
    AvroBulkWriters,
    AvroDeserializationSchema,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    AvroSerializationSchema,
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
    GenericRecordAvroTypeInfo,
)

PAYMENT = {
    "type": "record",
    "name": "Payment",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "card", "type": ["null", "string"], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {
            "name": "shop",
            "type": {"type": "record", "name": "Shop", "fields": [{"name": "city", "type": "string"}]},
        },
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
    ],
}
ROW = Row(
    id=1,
    card=None,
    price=Decimal("2.50"),
    at=datetime(2024, 1, 2, 3, 4, 5, 6000),
    day=date(2024, 1, 2),
    tags=["x", "y"],
    counts={"a": 1},
    shop=Row(city="Bern"),
    kind="B",
)


def test_a_record_of_every_type_comes_back():
    text = json.dumps(PAYMENT)
    message = AvroRowSerializationSchema(avro_schema_string=text).serialize(ROW)
    schema = pickle.loads(pickle.dumps(AvroRowDeserializationSchema(avro_schema_string=text)))
    batch = schema.to_batch([message, None, message], [1, 2, 3])
    assert batch.values == [ROW, ROW]
    assert batch.timestamps == [1, 3]
    assert batch.is_columnar


def test_it_is_the_avro_that_others_read(tmp_path):
    message = AvroSerializationSchema("id BIGINT, name STRING").serialize((7, "Zürich"))
    path = tmp_path / "message"
    path.write_bytes(message)
    with path.open("rb") as file:
        schema = AvroSchema.of_row(DeclaredRow.of("test", "id BIGINT, name STRING"))
        record = fastavro.schemaless_reader(file, schema.parsed, None)
    assert record == {"id": 7, "name": "Zürich"}


@dataclass
class Point:
    x: int
    y: float


def test_a_dataclass_is_a_schema():
    message = AvroSerializationSchema(Point).serialize(Point(1, 2.5))
    assert AvroDeserializationSchema(Point).to_batch([message], [None]).values == [Point(1, 2.5)]


def test_messages_of_an_older_schema_are_resolved():
    older = AvroSchema({"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]})
    newer = AvroSchema(
        {
            "type": "record",
            "name": "P",
            "fields": [{"name": "x", "type": "long"}, {"name": "colour", "type": "string", "default": "red"}],
        }
    )
    message = AvroSerializationSchema(older).serialize({"x": 3})
    batch = AvroDeserializationSchema(newer, writer_schema=older).to_batch([message], [None])
    assert batch.values == [Row(x=3, colour="red")]


@pytest.mark.parametrize("bad", [b"", b"\xff", b"\x02\x02\x00\x00\x00"])
def test_what_is_no_record_is_an_error_with_its_place(bad):
    schema = AvroDeserializationSchema("id BIGINT, name STRING")
    good = AvroSerializationSchema("id BIGINT, name STRING").serialize((7, "a"))
    with pytest.raises(DeserializationError) as problem:
        schema.to_batch([good, bad], [None, None])
    assert problem.value.index == 1


def test_an_int_of_more_than_32_bits_is_an_error_with_its_place():
    long = AvroSerializationSchema("x BIGINT")
    with pytest.raises(DeserializationError, match="too large") as problem:
        AvroDeserializationSchema("x INT").to_batch(
            [long.serialize((7,)), None, long.serialize((1 << 40,))], [None] * 3
        )
    assert problem.value.index == 2


def test_a_record_that_does_not_fit_is_shown():
    schema = AvroSerializationSchema("id BIGINT, name STRING")
    for wrong in ((1,), ("x", "y"), 5):
        with pytest.raises(TypeMismatchError):
            schema.serialize(wrong)


def test_what_is_no_schema_is_an_error():
    with pytest.raises(ConfigurationError, match="Avro schema"):
        AvroSchema.parse_string("{")
    with pytest.raises(ConfigurationError, match="no Avro schema"):
        AvroSchema({"type": "nosuch"})
    with pytest.raises(UnsupportedError, match="Java class"):
        AvroRowDeserializationSchema("org.example.Payment")
    with pytest.raises(TypeError):
        AvroRowDeserializationSchema()
    with pytest.raises(UnsupportedError, match="union"):
        AvroDeserializationSchema(
            AvroSchema({"type": "record", "name": "P", "fields": [{"name": "x", "type": ["int", "string"]}]})
        )


# --- a registry


class Registry:
    """As much of a schema registry as its client asks for, on loopback: no real one can run in the test suite."""

    def __init__(self) -> None:
        self.schemas: dict[int, str] = {}
        self.requests: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.requests.append(self.path)
                schema_id = int(self.path.partition("?")[0].rpartition("/")[2])
                if schema_id in registry.schemas:
                    self._answer(200, {"schema": registry.schemas[schema_id]})
                else:
                    self._answer(404, {"error_code": 40403, "message": "Schema not found"})

            def do_POST(self) -> None:
                registry.requests.append(self.path)
                content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if "refused" in self.path:
                    self._answer(409, {"error_code": 409, "message": "incompatible"})
                    return
                known = {text: number for number, text in registry.schemas.items()}
                number = known.setdefault(content["schema"], len(known) + 1)
                registry.schemas[number] = content["schema"]
                self._answer(200, {"id": number, "schema": content["schema"], "version": 1, "subject": "s"})

            def _answer(self, status: int, content: object) -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def registry():
    running = Registry()
    yield running
    running.close()


def test_messages_name_their_schema_in_the_registry(registry):
    older = "id BIGINT"
    newer = AvroSchema(
        {
            "type": "record",
            "name": "Record",
            "fields": [{"name": "id", "type": ["null", "long"]}, {"name": "kind", "type": "string", "default": "new"}],
        }
    )
    writer = ConfluentRegistryAvroSerializationSchema("payments-value", older, registry.url)
    messages = [writer.serialize((number,)) for number in (1, 2)]
    assert messages[0][:5] == b"\x00\x00\x00\x00\x01"
    schema = ConfluentRegistryAvroDeserializationSchema(newer, registry.url)
    batch = pickle.loads(pickle.dumps(schema)).to_batch(messages, [None, None])
    assert batch.values == [Row(id=1, kind="new"), Row(id=2, kind="new")]
    assert len([path for path in registry.requests if "/ids/1" in path]) == 1, "a schema is asked for once"
    mixed = ConfluentRegistryAvroSerializationSchema("payments-value", newer, registry.url)
    both = [messages[0], mixed.serialize((3, "old")), messages[1], mixed.serialize((4, "b"))]
    batch = schema.to_batch(both, [1, 2, 3, 4])
    assert [(row.id, row.kind) for row in batch.values] == [(1, "new"), (3, "old"), (2, "new"), (4, "b")]
    assert batch.timestamps == [1, 2, 3, 4]
    assert batch.was_made_of_columns


def test_a_schema_that_the_registry_does_not_have_makes_the_message_a_broken_one(registry):
    schema = ConfluentRegistryAvroDeserializationSchema("id BIGINT", registry.url)
    with pytest.raises(DeserializationError, match="no schema of the id 77"):
        schema.to_batch([b"\x00\x00\x00\x00\x4d\x02\x02"], [None])
    with pytest.raises(DeserializationError, match="does not begin with the id"):
        schema.to_batch([b"\x01abc"], [None])


def test_a_registry_that_refuses_or_does_not_answer_is_an_error(registry):
    with pytest.raises(SinkError, match="does not take the schema of 'refused'"):
        ConfluentRegistryAvroSerializationSchema("refused", "id BIGINT", registry.url).serialize((1,))
    gone = ConfluentRegistryAvroDeserializationSchema("id BIGINT", "http://127.0.0.1:9", {"max.retries": 0})
    with pytest.raises(SourceError, match=r"schema registry at http://127.0.0.1:9"):
        gone.to_batch([b"\x00\x00\x00\x00\x01\x02\x02"], [None])


def test_a_registry_that_says_nothing_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr("penstock.connectors.avro.registry.ANSWER_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        schema = ConfluentRegistryAvroDeserializationSchema("id BIGINT", url, {"max.retries": 0})
        with pytest.raises(SourceError, match=r"schema registry at .* timed out"):
            schema.to_batch([b"\x00\x00\x00\x00\x01\x02\x02"], [None])


# --- files


def write(path, schema, records, **options):
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), records, **options)


def test_avro_files_are_read_with_their_own_schema_with_one_and_as_a_type(tmp_path, run_source):
    schema = {
        "type": "record",
        "name": "P",
        "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "string"]}],
    }
    write(tmp_path / "a.avro", schema, [{"x": n, "y": None if n else "a"} for n in range(20_000)], codec="deflate")

    def read(file_format):
        return run_source(FileSource(str(tmp_path), file_format)).epoch()

    assert read(AvroFormat())[:2] == [Row(x=0, y="a"), Row(x=1, y=None)]
    assert len(read(AvroFormat())) == 20_000
    wider = AvroSchema({"type": "record", "name": "P", "fields": [{"name": "x", "type": "double"}]})
    assert read(AvroFormat(wider))[1] == Row(x=1.0)
    assert read(AvroFormat("y STRING, z BIGINT"))[0] == Row(y="a", z=None)
    generic = AvroFormat(AvroSchema(schema), as_generic_records=True)
    assert generic.produced_type.is_pickled
    assert read(generic)[0] == {"x": 0, "y": "a"}


def test_a_file_that_is_no_avro_or_of_another_schema_is_an_error(tmp_path, run_source):
    (tmp_path / "a.avro").write_bytes(b"no avro at all")
    with pytest.raises(SourceError, match=r"a\.avro: cannot be read as Avro"):
        run_source(FileSource(str(tmp_path), AvroFormat("x BIGINT"))).epoch()
    schema = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "string"}]}
    write(tmp_path / "a.avro", schema, [{"x": "a"}])
    other = AvroSchema({"type": "record", "name": "P", "fields": [{"name": "x", "type": "long"}]})
    with pytest.raises(SourceError, match="cannot be read as Avro"):
        run_source(FileSource(str(tmp_path), AvroFormat(other))).epoch()


@pytest.mark.parametrize("written", ["long", {"type": "long", "logicalType": "timestamp-micros"}], ids=["long", "time"])
def test_a_time_that_python_does_not_have_is_an_error(tmp_path, run_source, written):
    read = {"type": "long", "logicalType": "timestamp-micros"}
    schema, other = ({"type": "record", "name": "P", "fields": [{"name": "x", "type": x}]} for x in (written, read))
    write(tmp_path / "a.avro", schema, [{"x": 1 << 60}])
    with pytest.raises(SourceError, match="cannot be read as Avro"):
        run_source(FileSource(str(tmp_path), AvroFormat(AvroSchema(other)))).epoch()


def test_the_same_records_give_the_same_file(tmp_path):
    schema = AvroSchema({"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]})
    contents = []
    for number in range(2):
        path = tmp_path / str(number)
        with path.open("wb") as file:
            writer = AvroBulkWriters.for_generic_record(schema).create(file)
            writer.write(Batch(codec_for(GenericRecordAvroTypeInfo(schema)), values=[{"x": 1}, {"x": 2}]))
            writer.finish()
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    assert GenericRecordAvroTypeInfo(schema) != Types.PICKLED_BYTE_ARRAY()
