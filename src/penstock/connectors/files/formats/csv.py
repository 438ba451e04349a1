"""Comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.csv

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SourceError, UnsupportedError
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    PrimitiveArrayTypeInfo,
    TypeInformation,
)
from penstock.connectors.batches import batches_of_columns
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.declared_rows import RowDescription, row_type_of
from penstock.connectors.files.chunk import FileChunk
from penstock.connectors.files.formats.csv_rows import TolerantCsv, WithoutComments, lists_of
from penstock.connectors.files.formats.file_format import FileFormat
from penstock.connectors.files.formats.line_estimate import bytes_per_line

_BLOCK_BYTES = 8 << 20
_NO_TEXT_FORM = frozenset({BasicType.INSTANT})


class CsvFormat(FileFormat):
    """Lines of fields, quoted as in RFC 4180; a file is read as a whole, since a quoted field may contain newlines.

    With `header` the first line names the columns: they are matched to the type's fields by name, in any order, and
    columns that the type does not have are ignored. Without it the columns are the type's fields in their order.
    An empty field is None, except in a text field, where it is the empty text. With `null_literal` that text,
    unquoted, is None in every field, and `null_literal=""` makes unquoted empty text None too. `allow_comments` skips
    lines that begin with `#`, `skip_first_row` the first row of data. `strict_header` refuses a header of other columns
    or another order. `array_separators` says for fields that are lists what stands between their elements.
    """

    def __init__(
        self,
        type_info: RowDescription,
        *,
        header: bool = False,
        delimiter: str = ",",
        quote_character: str | None = '"',
        escape_character: str | None = None,
        null_literal: str | None = None,
        charset: str = "UTF-8",
        allow_comments: bool = False,
        skip_first_row: bool = False,
        strict_header: bool = False,
        array_separators: Mapping[str, str] | None = None,
    ) -> None:
        row_type = row_type_of("CsvFormat", type_info)
        for name, field_type in zip(row_type.get_field_names(), row_type.get_field_types(), strict=True):
            if not _has_text_form(field_type, name in (array_separators or {})):
                raise UnsupportedError(f"field {name} of type {field_type!r} cannot be read from CSV: read it as text")
        if len(delimiter) != 1:
            raise ConfigurationError(f"a CSV delimiter is one character, got {delimiter!r}")
        self._type_info = row_type
        self._header = header
        self._delimiter = delimiter
        self._quote_character = quote_character
        self._escape_character = escape_character
        self._null_literal = null_literal
        self._charset = charset
        self._allow_comments = allow_comments
        self._skip_first_row = skip_first_row
        self._strict_header = strict_header
        self._array_separators = dict(array_separators or {})

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    @property
    def is_splittable(self) -> bool:  # noqa: D102
        return False

    def bytes_per_record(self, path: str) -> float | None:  # noqa: D102
        return bytes_per_line(path)

    def read_records(self, chunk: FileChunk, broken: BrokenRecords) -> Iterator[Batch]:  # noqa: D102
        codec = codec_for(self._type_info)
        schema = codec.schema
        assert schema is not None
        with chunk.opened() as file:
            if chunk.size == 0:
                return
            first_row = 1 + self._header + self._skip_first_row
            tolerant = TolerantCsv(
                self._type_info, chunk.path, broken, self._delimiter, first_row, self._array_separators, self._charset
            )
            if self._header and self._strict_header:
                self._check_header(chunk, schema.names)
            try:
                reader = self._opened(file, schema, tolerant if broken.is_tolerant else None)
                for records in reader:
                    if broken.is_tolerant:
                        yield from batches_of_columns(codec, tolerant.converted(records, self._null_literal))
                    else:
                        columns = tolerant.checked(self._with_lists(records, schema))
                        yield from batches_of_columns(codec, columns)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, UnicodeError) as problem:
                reason = tolerant.as_written(str(problem)) if broken.is_tolerant else str(problem)
                raise SourceError(f"{chunk.path}: {reason}") from problem

    def _with_lists(self, records: pa.RecordBatch, schema: pa.Schema) -> list[pa.Array]:
        if not self._array_separators:
            return records.columns
        return [
            lists_of(column, field.type, self._array_separators[field.name])
            if field.name in self._array_separators
            else column
            for column, field in zip(records.columns, schema, strict=True)
        ]

    def _check_header(self, chunk: FileChunk, names: list[str]) -> None:
        with chunk.opened() as file:
            lines: Any = WithoutComments(file) if self._allow_comments else file
            text = io.TextIOWrapper(io.BufferedReader(lines), self._charset, newline="")
            reader = csv.reader(
                text,
                delimiter=self._delimiter,
                quotechar=self._quote_character,
                quoting=csv.QUOTE_MINIMAL if self._quote_character else csv.QUOTE_NONE,
                escapechar=self._escape_character,
            )
            found = next(reader, [])
            text.detach()
        if found != names:
            raise SourceError(f"{chunk.path}: the header has the columns {found}; expected {names}")

    def _opened(
        self, file: BinaryIO, schema: pa.Schema, tolerant: TolerantCsv | None
    ) -> pyarrow.csv.CSVStreamingReader:
        if self._allow_comments:
            file = cast(BinaryIO, WithoutComments(file))
        names = schema.names
        if tolerant is not None:
            file = tolerant.file_for_arrow(file)
            names = list(map(tolerant.as_read, names))
        return pyarrow.csv.open_csv(
            pa.PythonFile(file, "r"),
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False,
                block_size=_BLOCK_BYTES,
                column_names=None if self._header else names,
                skip_rows_after_names=1 if self._skip_first_row else 0,
                encoding=self._charset,
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char=self._quote_character or False,
                escape_char=self._escape_character or False,
                newlines_in_values=True,
                invalid_row_handler=None if tolerant is None else tolerant.take_row,
            ),
            convert_options=self._conversion(schema) if tolerant is None else self._no_conversion(schema, tolerant),
        )

    def _conversion(self, schema: pa.Schema) -> pyarrow.csv.ConvertOptions:
        return pyarrow.csv.ConvertOptions(
            column_types=pa.schema(
                [
                    pa.field(field.name, pa.string()) if field.name in self._array_separators else field
                    for field in schema
                ]
            ),
            include_columns=schema.names,
            null_values=[""] if not self._null_literal else ["", self._null_literal],
            strings_can_be_null=self._null_literal is not None,
            quoted_strings_can_be_null=False,
        )

    def _no_conversion(self, schema: pa.Schema, tolerant: TolerantCsv) -> pyarrow.csv.ConvertOptions:
        names = list(map(tolerant.as_read, schema.names))
        return pyarrow.csv.ConvertOptions(
            column_types=pa.schema([pa.field(name, pa.string()) for name in names]),
            include_columns=names,
            null_values=[""] if not self._null_literal else ["", tolerant.as_read(self._null_literal)],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )


def _has_text_form(type_info: TypeInformation, is_list: bool = False) -> bool:
    if is_list:
        return isinstance(type_info, CollectionTypeInfo) and _has_text_form(type_info.element_type)
    if isinstance(type_info, BasicTypeInfo):
        return type_info.basic_type not in _NO_TEXT_FORM
    if isinstance(type_info, PrimitiveArrayTypeInfo):
        return type_info.is_bytes
    return not isinstance(type_info, CompositeTypeInfo) and pa.types.is_temporal(type_info.column_type())
