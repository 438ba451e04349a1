"""Avro container files, for reading."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.avro.library import fastavro
from penstock.connectors.avro.schema import AvroSchema, GenericRecordAvroTypeInfo
from penstock.connectors.avro.values import AvroColumns
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.declared_rows import RowDescription, row_type_of
from penstock.connectors.files.chunk import FileChunk
from penstock.connectors.files.file_system import file_system_of
from penstock.connectors.files.formats.file_format import FileFormat
from penstock.connectors.files.formats.line_estimate import bytes_per_line

_BROKEN = (ValueError, TypeError, KeyError, EOFError, IndexError, OverflowError)
_RECORDS = 8_192


class AvroFormat(FileFormat):
    """The records of Avro files.

    With an `AvroSchema` that is the schema of the reader: what a file was written with is resolved to it by Avro's
    rules. With a type (`Types.ROW_NAMED`, a dataclass, a NamedTuple, DDL text) fields are matched by name, and those
    that a file lacks are None. Without either the schema of the first file is that of all.
    """

    def __init__(self, schema: AvroSchema | RowDescription | None = None, *, as_generic_records: bool = False) -> None:
        self._schema = schema if isinstance(schema, AvroSchema) else None
        self._type_info: TypeInformation | None = None
        if as_generic_records:
            if self._schema is None:
                raise ConfigurationError("generic records need an AvroSchema")
            self._type_info = GenericRecordAvroTypeInfo(self._schema)
        elif self._schema is not None:
            self._type_info = self._schema.type_info
        elif schema is not None and not isinstance(schema, AvroSchema):
            self._type_info = row_type_of("AvroFormat", schema)

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        if self._type_info is None:
            raise ConfigurationError("the schema of these Avro files is not known yet: pass one, or a type")
        return self._type_info

    @property
    def is_splittable(self) -> bool:  # noqa: D102
        return False

    def bytes_per_record(self, path: str) -> float | None:
        """A guess: records are not counted without reading them."""
        return bytes_per_line(path)

    def for_files(self, paths: Sequence[str]) -> FileFormat:  # noqa: D102
        if self._type_info is not None:
            return self
        if not paths:
            raise ConfigurationError("Avro without files has no schema: pass one, or put a file there first")
        try:
            with file_system_of(paths[0]).open_input(paths[0]) as file:
                return AvroFormat(AvroSchema(_plain(fastavro().reader(_buffered(file)).writer_schema)))
        except (OSError, ValueError) as problem:
            raise SourceError(f"{paths[0]}: cannot be read as Avro: {problem}") from problem

    def read_records(self, chunk: FileChunk, broken: BrokenRecords) -> Iterator[Batch]:  # noqa: D102
        type_info = self.produced_type
        columns = AvroColumns(type_info) if isinstance(type_info, CompositeTypeInfo) else None
        codec = codec_for(type_info)
        with chunk.opened() as file:
            try:
                reader = fastavro().reader(_buffered(file), None if self._schema is None else self._schema.parsed)
                while records := list(islice(reader, _RECORDS)):
                    if columns is None:
                        yield Batch(codec, values=records)
                    else:
                        yield columns.batch(records)
            except (*_BROKEN, _resolution_error()) as problem:
                raise SourceError(f"{chunk.path}: cannot be read as Avro: {problem}") from problem


def _buffered(file: BinaryIO) -> Any:
    return io.BufferedReader(file, 1 << 20) if isinstance(file, io.RawIOBase) else file


def _plain(schema: Any) -> Any:
    """The schema without what fastavro notes in it."""
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if not key.startswith("__")}
    return [_plain(each) for each in schema] if isinstance(schema, list) else schema


def _resolution_error() -> type[Exception]:
    return fastavro().read.SchemaResolutionError
