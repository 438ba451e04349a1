"""Avro messages of a Confluent schema registry: each says which schema it was written with."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.errors import ConfigurationError, EnvironmentNotReadyError, SinkError, SourceError
from penstock.common.serialization import DeserializationError, SerializationSchema
from penstock.connectors.avro.rows import (
    AvroMessages,
    read_record,
    schema_of,
    written_record,
)
from penstock.connectors.avro.schema import AvroSchema
from penstock.connectors.avro.values import AvroRecords
from penstock.connectors.declared_rows import RowDescription

ANSWER_SECONDS = 30
"""How long the registry is waited for, unless the property `timeout` says otherwise: the client would wait for ever."""
_HEADER = struct.Struct(">bI")
_MAGIC = 0
_FIRST = itemgetter(slice(_HEADER.size))


class SchemaRegistry:
    """A client of a schema registry that asks for each schema once. Picklable: it connects where it is used."""

    def __init__(self, url: str, properties: Mapping[str, Any] | None = None) -> None:
        """`properties` are those of confluent-kafka's client, such as `basic.auth.user.info` or `timeout` (30 s)."""
        if not url.startswith(("http://", "https://")):
            raise ConfigurationError(f"a schema registry has a URL with http:// or https://, got {url!r}")
        self._url = url
        self._properties = dict(properties or {})
        self._client: Any = None
        self._schemas: dict[int, AvroSchema] = {}

    def __reduce__(self) -> tuple[type[SchemaRegistry], tuple[str, dict[str, Any]]]:
        return type(self), (self._url, self._properties)

    def schema(self, schema_id: int) -> AvroSchema:
        """The schema of an id; raises `SourceError` when the registry does not answer."""
        if schema_id not in self._schemas:
            try:
                found = self._connected().get_schema(schema_id)
            except _registry_error() as problem:
                if getattr(problem, "http_status_code", None) == 404:
                    raise DeserializationError(0, f"the registry has no schema of the id {schema_id}") from None
                raise SourceError(f"the schema registry at {self._url} does not answer: {problem}") from problem
            except OSError as problem:
                raise SourceError(f"the schema registry at {self._url} cannot be reached: {problem}") from problem
            except Exception as problem:
                raise SourceError(f"the schema registry at {self._url} cannot be asked: {problem}") from problem
            self._schemas[schema_id] = AvroSchema.parse_string(found.schema_str)
        return self._schemas[schema_id]

    def register(self, subject: str, schema: AvroSchema) -> int:
        """The id of a schema, which is registered if it is new; raises `SinkError` when the registry refuses it."""
        from confluent_kafka.schema_registry import Schema

        try:
            return self._connected().register_schema(subject, Schema(str(schema), "AVRO"))
        except Exception as problem:
            raise SinkError(
                f"the schema registry at {self._url} does not take the schema of {subject!r}: {problem}"
            ) from problem

    def _connected(self) -> Any:
        if self._client is None:
            try:
                from confluent_kafka.schema_registry import SchemaRegistryClient
            except ImportError as problem:
                raise EnvironmentNotReadyError(
                    "a schema registry needs confluent-kafka with its client: pip install 'penstock[schema-registry]'"
                ) from problem
            self._client = SchemaRegistryClient({"url": self._url, "timeout": ANSWER_SECONDS, **self._properties})
        return self._client


def _registry_error() -> type[Exception]:
    from confluent_kafka.schema_registry import SchemaRegistryError

    return SchemaRegistryError


class ConfluentRegistryAvroDeserializationSchema(AvroMessages):
    """Each message has the id of its schema before its bytes; it is resolved to `schema` by Avro's rules.

    `schema` is an `AvroSchema`, its JSON text, or the type of the rows (a dataclass, `Types.ROW_NAMED`, DDL text).
    """

    def __init__(
        self,
        schema: AvroSchema | RowDescription,
        schema_registry_url: str,
        registry_configs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(schema)
        self._registry = SchemaRegistry(schema_registry_url, registry_configs)

    def read_columns(self, messages: Sequence[bytes]) -> list[pa.Array] | None:
        """The columns of many records, those of each schema at once."""
        headers = list(map(_FIRST, messages))
        found: dict[bytes, Sequence[int]] = {headers[0]: range(len(messages))}
        if headers.count(headers[0]) < len(headers):
            found = {each: [place for place, header in enumerate(headers) if header == each] for each in set(headers)}
        parts: list[list[pa.Array]] = []
        for header, places in found.items():
            if len(header) < _HEADER.size or header[0] != _MAGIC:
                return None
            try:
                writer = self._registry.schema(_HEADER.unpack(header)[1])
            except DeserializationError:
                return None  # somebody has to say which message it was
            part = self._reading.columns([messages[place] for place in places], writer, _HEADER.size)
            if part is None:
                return None
            parts.append(part)
        if len(parts) == 1:
            return parts[0]
        order = pa.array(np.argsort(np.concatenate([list(places) for places in found.values()])))
        return [pa.concat_arrays(columns).take(order) for columns in zip(*parts, strict=True)]

    def read(self, message: bytes) -> Any:
        """The dict of one record."""
        if len(message) < _HEADER.size or message[0] != _MAGIC:
            raise ValueError("it does not begin with the id of a schema (a zero byte and four of the id)")
        _, schema_id = _HEADER.unpack_from(message)
        return read_record(message, self._registry.schema(schema_id), self._schema, _HEADER.size)


class ConfluentRegistryAvroSerializationSchema(SerializationSchema):
    """Each row is an Avro record behind the id of its schema, which is registered under `subject`."""

    def __init__(
        self,
        subject: str,
        schema: AvroSchema | RowDescription,
        schema_registry_url: str,
        registry_configs: Mapping[str, Any] | None = None,
    ) -> None:
        self._subject = subject
        self._schema = schema_of("ConfluentRegistryAvroSerializationSchema", schema)
        self._registry = SchemaRegistry(schema_registry_url, registry_configs)
        self._records = AvroRecords([field["name"] for field in self._schema.parsed["fields"]])
        self._header: bytes | None = None

    def serialize(self, element: Any) -> bytes:
        """The header, and the bytes of the record."""
        if self._header is None:
            self._header = _HEADER.pack(_MAGIC, self._registry.register(self._subject, self._schema))
        return written_record(element, self._schema, self._records, self._header)
