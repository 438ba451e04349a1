"""Comma-separated values."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SourceError, UnsupportedError
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CompositeTypeInfo,
    PrimitiveArrayTypeInfo,
    TypeInformation,
)
from penstock.connectors.batches import batches_of_columns
from penstock.connectors.files.chunk import FileChunk
from penstock.connectors.files.formats.file_format import FileFormat
from penstock.connectors.files.formats.line_estimate import bytes_per_line

_BLOCK_BYTES = 8 << 20
_NO_TEXT_FORM = frozenset({BasicType.INSTANT})


class CsvFormat(FileFormat):
    """Lines of fields, quoted as in RFC 4180; a file is read as a whole, since a quoted field may contain newlines.

    With `header` the first line names the columns: they are matched to the type's fields by name, in any order, and
    columns that the type does not have are ignored. Without it the columns are the type's fields in their order.
    An empty field is None, except in a text field, where it is the empty text. With `null_literal` that text,
    unquoted, is None in every field, and `null_literal=""` makes unquoted empty text None too.
    """

    def __init__(
        self,
        type_info: TypeInformation,
        *,
        header: bool = False,
        delimiter: str = ",",
        quote_character: str | None = '"',
        escape_character: str | None = None,
        null_literal: str | None = None,
        charset: str = "UTF-8",
    ) -> None:
        if not isinstance(type_info, CompositeTypeInfo):
            raise ConfigurationError(
                f"CSV is read as a type with fields (Types.ROW_NAMED, a dataclass, a NamedTuple), got {type_info!r}"
            )
        for name, field_type in zip(type_info.get_field_names(), type_info.get_field_types(), strict=True):
            if not _has_text_form(field_type):
                raise UnsupportedError(f"field {name} of type {field_type!r} cannot be read from CSV: read it as text")
        if len(delimiter) != 1:
            raise ConfigurationError(f"a CSV delimiter is one character, got {delimiter!r}")
        self._type_info = type_info
        self._header = header
        self._delimiter = delimiter
        self._quote_character = quote_character
        self._escape_character = escape_character
        self._null_literal = null_literal
        self._charset = charset

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    @property
    def is_splittable(self) -> bool:  # noqa: D102
        return False

    def bytes_per_record(self, path: str) -> float | None:  # noqa: D102
        return bytes_per_line(path)

    def read(self, chunk: FileChunk) -> Iterator[Batch]:  # noqa: D102
        codec = codec_for(self._type_info)
        schema = codec.schema
        assert schema is not None
        with chunk.opened() as file:
            if chunk.size == 0:
                return
            try:
                reader = pyarrow.csv.open_csv(
                    pa.PythonFile(file, "r"),
                    read_options=pyarrow.csv.ReadOptions(
                        use_threads=False,
                        block_size=_BLOCK_BYTES,
                        column_names=None if self._header else schema.names,
                        encoding=self._charset,
                    ),
                    parse_options=pyarrow.csv.ParseOptions(
                        delimiter=self._delimiter,
                        quote_char=self._quote_character or False,
                        escape_char=self._escape_character or False,
                        newlines_in_values=True,
                    ),
                    convert_options=self._conversion(schema),
                )
                for batch in reader:
                    yield from batches_of_columns(codec, batch.columns)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, UnicodeError) as problem:
                raise SourceError(f"{chunk.path}: {problem}") from problem

    def _conversion(self, schema: pa.Schema) -> pyarrow.csv.ConvertOptions:
        return pyarrow.csv.ConvertOptions(
            column_types=schema,
            include_columns=schema.names,
            null_values=[""] if not self._null_literal else ["", self._null_literal],
            strings_can_be_null=self._null_literal is not None,
            quoted_strings_can_be_null=False,
        )


def _has_text_form(type_info: TypeInformation) -> bool:
    if isinstance(type_info, BasicTypeInfo):
        return type_info.basic_type not in _NO_TEXT_FORM
    if isinstance(type_info, PrimitiveArrayTypeInfo):
        return type_info.is_bytes
    return not isinstance(type_info, CompositeTypeInfo) and pa.types.is_temporal(type_info.column_type())
