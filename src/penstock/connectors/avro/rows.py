"""Records as Avro messages: each is the bytes of one record, without a header."""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, TypeMismatchError, UnsupportedError
from penstock.common.serialization import (
    DeserializationError,
    DeserializationSchema,
    SerializationSchema,
    Timestamps,
    with_values,
)
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.avro.column_reader import AvroColumnReader
from penstock.connectors.avro.library import fastavro
from penstock.connectors.avro.schema import AvroSchema
from penstock.connectors.avro.values import AvroColumns, AvroRecords
from penstock.connectors.declared_rows import DeclaredRow, RowDescription

_NO_COLUMN = (pa.ArrowException, ValueError, TypeError, OverflowError)
_BROKEN = (ValueError, TypeError, KeyError, EOFError, IndexError, OverflowError, StopIteration)


def schema_of(what: str, schema: AvroSchema | RowDescription) -> AvroSchema:
    """The schema that a program gives as one, as JSON text, or as the type of the rows."""
    if isinstance(schema, AvroSchema):
        return schema
    if isinstance(schema, str) and _is_schema_text(schema):
        return AvroSchema.parse_string(schema)
    return AvroSchema.of_row(DeclaredRow.of(what, schema))


def _is_schema_text(schema: str) -> bool:
    return schema.lstrip().startswith(("{", "[", '"'))


def _declared_type(what: str, schema: AvroSchema | RowDescription) -> TypeInformation | None:
    """The type of the rows where the program gave one, so that its dataclass comes out again."""
    if isinstance(schema, AvroSchema) or (isinstance(schema, str) and _is_schema_text(schema)):
        return None
    return DeclaredRow.of(what, schema).type_info


class AvroReading:
    """Makes rows of dicts that fastavro reads."""

    def __init__(self, schema: AvroSchema, type_info: TypeInformation | None = None) -> None:
        produced = type_info or schema.type_info
        if not isinstance(produced, CompositeTypeInfo):
            raise ConfigurationError(f"Avro messages are read as records with fields; the schema is {schema}")
        self.schema = schema
        self.produced_type = produced
        self._columns = AvroColumns(produced)
        self._readers: dict[int, tuple[AvroSchema, AvroColumnReader | None]] = {}
        """By the identity of the writer's schema."""

    def columns(self, messages: Sequence[bytes], writer: AvroSchema, start: int = 0) -> list[pa.Array] | None:
        """The columns of messages behind `start` bytes of something else; None: they are to be read one by one."""
        if id(writer) not in self._readers:
            self._readers[id(writer)] = writer, AvroColumnReader.of(writer, self.schema, self.produced_type)
        reader = self._readers[id(writer)][1]
        return None if reader is None else reader.columns(messages, start)

    def batch(
        self,
        messages: Sequence[bytes | None],
        timestamps: Timestamps,
        read: Callable[[bytes], Any],
    ) -> Batch:
        """The records that `read` makes of messages; those without a value are skipped."""
        present, times, places = with_values(messages, timestamps)
        records: list[Any] = []
        for place, message in zip(places, present, strict=True):
            try:
                records.append(read(message))
            except DeserializationError as problem:
                raise DeserializationError(place, problem.reason) from problem.__cause__
            except (*_BROKEN, fastavro().read.SchemaResolutionError) as problem:
                raise DeserializationError(
                    place, f"no Avro record of the schema: {type(problem).__name__}: {problem}"
                ) from None
        if not records:
            codec = codec_for(self.produced_type)
            return Batch(codec, columns=codec.to_columns([]), timestamps=times)
        try:
            return self._columns.batch(records, times)
        except _NO_COLUMN as problem:
            raise self._first_misfit(records, places) or problem from None

    def _first_misfit(self, records: Sequence[Any], places: Sequence[int]) -> DeserializationError | None:
        """The first record that has a value which is none of its type: fastavro reads an int of any size."""
        for place, record in zip(places, records, strict=True):
            try:
                self._columns.of([record])
            except _NO_COLUMN as problem:
                return DeserializationError(place, f"no Avro record of the schema: {problem}")
        return None


def read_record(message: bytes, writer: AvroSchema, reader: AvroSchema, start: int = 0) -> Any:
    """The one record in a message; bytes behind it are an error."""
    stream = io.BytesIO(message)
    stream.seek(start)
    record = fastavro().schemaless_reader(stream, writer.parsed, reader.parsed if reader != writer else None)
    if stream.tell() != len(message):
        raise ValueError(f"{len(message) - stream.tell()} bytes are left behind the record")
    return record


class AvroMessages(DeserializationSchema):
    """What all schemas of Avro messages do alike; how one message is read is for the classes below."""

    def __init__(self, schema: AvroSchema | RowDescription) -> None:
        what = type(self).__name__
        self._schema = schema_of(what, schema)
        self._declared = _declared_type(what, schema)
        self._reading = AvroReading(self._schema, self._declared)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_reading"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._reading = AvroReading(self._schema, self._declared)

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._reading.produced_type

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        present, times, _ = with_values(messages, timestamps)
        columns = self.read_columns(present) if present else None
        if columns is not None:
            return Batch(codec_for(self.produced_type), columns=columns, timestamps=times)
        return self._reading.batch(messages, timestamps, self.read)

    @abstractmethod
    def read_columns(self, messages: Sequence[bytes]) -> list[pa.Array] | None:
        """The columns of many records; None where they have to be read one by one."""

    @abstractmethod
    def read(self, message: bytes) -> Any:
        """The dict of one record."""


class AvroDeserializationSchema(AvroMessages):
    """Each message is one Avro record, read by a schema into rows.

    `schema` is an `AvroSchema`, its JSON text, or the type of the rows (a dataclass, `Types.ROW_NAMED`, DDL text).
    `writer_schema` is what the messages were written with, where that is another: it is resolved to `schema` by Avro's
    rules. Messages without a value are skipped.
    """

    def __init__(
        self, schema: AvroSchema | RowDescription, writer_schema: AvroSchema | RowDescription | None = None
    ) -> None:
        super().__init__(schema)
        self._writer = self._schema if writer_schema is None else schema_of(type(self).__name__, writer_schema)

    def read_columns(self, messages: Sequence[bytes]) -> list[pa.Array] | None:  # noqa: D102
        return self._reading.columns(messages, self._writer)

    def read(self, message: bytes) -> Any:
        """The dict of one record."""
        return read_record(message, self._writer, self._schema)


class AvroSerializationSchema(SerializationSchema):
    """Each row is one Avro record, without a header. `schema` is as for `AvroDeserializationSchema`."""

    def __init__(self, schema: AvroSchema | RowDescription) -> None:
        self._schema = schema_of("AvroSerializationSchema", schema)
        self._records = AvroRecords([field["name"] for field in self._schema.parsed["fields"]])

    def serialize(self, element: Any) -> bytes:
        """The bytes of the record."""
        return written_record(element, self._schema, self._records)


def written_record(element: Any, schema: AvroSchema, records: AvroRecords, header: bytes = b"") -> bytes:
    """The header, and the bytes of a record."""
    stream = io.BytesIO()
    stream.write(header)
    try:
        fastavro().schemaless_writer(stream, schema.parsed, records.of_value(element))
    except (*_BROKEN, AttributeError) as problem:
        raise TypeMismatchError(f"{element!r} does not fit the Avro schema {schema}: {problem}") from problem
    return stream.getvalue()


class AvroRowDeserializationSchema(AvroDeserializationSchema):
    """Each message is one Avro record of the schema, which is given as JSON text; PyFlink's name."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        super().__init__(AvroSchema.parse_string(_schema_text(record_class, avro_schema_string)))


class AvroRowSerializationSchema(AvroSerializationSchema):
    """Each row is one Avro record of the schema, which is given as JSON text; PyFlink's name."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        super().__init__(AvroSchema.parse_string(_schema_text(record_class, avro_schema_string)))


def _schema_text(record_class: str | None, avro_schema_string: str | None) -> str:
    if avro_schema_string is not None:
        return avro_schema_string
    if record_class is not None:
        raise UnsupportedError(f"{record_class} is a Java class, and there is no JVM of Flink here: pass the schema")
    raise TypeError('pass the schema as JSON text: avro_schema_string=\'{"type": "record", ...}\'')
