"""Rows as JSON messages, with the settings that PyFlink's schemas have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError
from penstock.common.serialization import (
    DeserializationError,
    DeserializationSchema,
    SerializationSchema,
    Timestamps,
    with_values,
)
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.declared_rows import RowDescription, row_type_of
from penstock.connectors.json.columns import JsonColumns
from penstock.connectors.json.documents import JsonError
from penstock.connectors.json.encoding import json_lines
from penstock.connectors.json.json_schema import type_of_json_schema
from penstock.connectors.json.missing_fields import first_missing_field
from penstock.connectors.tolerant_reading import readable_columns


class JsonRowDeserializationSchemaBuilder:
    """Makes a `JsonRowDeserializationSchema`."""

    def __init__(self) -> None:
        self._type_info: TypeInformation | None = None
        self._fail_on_missing_field = False
        self._ignore_parse_errors = False

    def type_info(self, type_info: RowDescription) -> JsonRowDeserializationSchemaBuilder:
        """Sets the type of the records, also a dataclass or DDL text; its fields are those of the JSON objects."""
        self._type_info = row_type_of("JsonRowDeserializationSchema", type_info)
        return self

    def json_schema(self, json_schema: str) -> JsonRowDeserializationSchemaBuilder:
        """Sets the type of the records by a JSON Schema: its properties are the fields."""
        self._type_info = type_of_json_schema(json_schema)
        return self

    def fail_on_missing_field(self) -> JsonRowDeserializationSchemaBuilder:
        """Makes a message without one of the fields an error; it is None otherwise."""
        self._fail_on_missing_field = True
        return self

    def ignore_parse_errors(self) -> JsonRowDeserializationSchemaBuilder:
        """Skips messages that cannot be read; they are errors otherwise."""
        self._ignore_parse_errors = True
        return self

    def build(self) -> JsonRowDeserializationSchema:
        """The schema."""
        if self._type_info is None:
            raise ConfigurationError(
                "JsonRowDeserializationSchema: call `type_info(...)` or `json_schema(...)` before `build()`"
            )
        return JsonRowDeserializationSchema(
            self._type_info,
            fail_on_missing_field=self._fail_on_missing_field,
            ignore_parse_errors=self._ignore_parse_errors,
        )


class JsonRowDeserializationSchema(DeserializationSchema):
    """Each message is a JSON object, read into a row by the names of its fields.

    Messages without a value are skipped. Make one with `JsonRowDeserializationSchema.builder()`.
    """

    Builder = JsonRowDeserializationSchemaBuilder

    def __init__(
        self, type_info: TypeInformation, *, fail_on_missing_field: bool = False, ignore_parse_errors: bool = False
    ) -> None:
        self._type_info = type_info
        self._columns = JsonColumns(type_info)
        self._fail_on_missing_field = fail_on_missing_field
        self._ignore_parse_errors = ignore_parse_errors

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_columns"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._columns = JsonColumns(self._type_info)

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        present, times, places = with_values(messages, timestamps)
        codec = codec_for(self._type_info)
        if self._ignore_parse_errors:
            assert codec.schema is not None
            columns, kept = readable_columns(present, self._read, codec.schema)
            return Batch(codec, columns=columns, timestamps=[times[index] for index in kept])
        try:
            return Batch(codec, columns=self._read(present), timestamps=times)
        except DeserializationError as problem:
            raise DeserializationError(places[problem.index], problem.reason) from None

    def _read(self, documents: list[bytes]) -> list[Any]:
        try:
            columns = self._columns.of_documents(documents)
        except JsonError as problem:
            raise DeserializationError(problem.index, problem.reason) from None
        if self._fail_on_missing_field:
            missing = first_missing_field(documents, self._type_info)
            if missing is not None:
                raise DeserializationError(*missing)
        return columns

    @staticmethod
    def builder() -> JsonRowDeserializationSchemaBuilder:
        """Begins one."""
        return JsonRowDeserializationSchemaBuilder()


class JsonRowSerializationSchemaBuilder:
    """Makes a `JsonRowSerializationSchema`."""

    def __init__(self) -> None:
        self._type_info: TypeInformation | None = None

    def with_type_info(self, type_info: RowDescription) -> JsonRowSerializationSchemaBuilder:
        """Sets the type of the records, also a dataclass or DDL text."""
        self._type_info = row_type_of("JsonRowSerializationSchema", type_info)
        return self

    def build(self) -> JsonRowSerializationSchema:
        """The schema."""
        if self._type_info is None:
            raise ConfigurationError("JsonRowSerializationSchema: call `with_type_info(...)` before `build()`")
        return JsonRowSerializationSchema(self._type_info)


class JsonRowSerializationSchema(SerializationSchema):
    """Each row is a JSON object of its fields. Make one with `JsonRowSerializationSchema.builder()`."""

    Builder = JsonRowSerializationSchemaBuilder

    def __init__(self, type_info: TypeInformation) -> None:
        self._codec = codec_for(type_info)

    def serialize(self, element: Any) -> bytes:
        """The object, without a line end."""
        return json_lines(Batch(self._codec, values=[element])).rstrip(b"\n")

    def serialize_batch(self, batch: Batch) -> Sequence[bytes | None]:  # noqa: D102
        is_typed = batch.is_columnar and (
            batch.codec is self._codec or batch.codec.schema == self._codec.schema  # which takes long to find out
        )
        records = Batch(self._codec, columns=batch.columns) if is_typed else Batch(self._codec, values=batch.values)
        # A line end inside a text is escaped.
        return json_lines(records).split(b"\n")[:-1]

    @staticmethod
    def builder() -> JsonRowSerializationSchemaBuilder:
        """Begins one."""
        return JsonRowSerializationSchemaBuilder()
