"""Rows as CSV messages, one line each, with the settings that PyFlink's schemas have."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, TypeMismatchError
from penstock.common.row import Row
from penstock.common.serialization import (
    DeserializationError,
    DeserializationSchema,
    SerializationSchema,
    Timestamps,
    with_values,
)
from penstock.common.typeinfo import CompositeTypeInfo, TupleTypeInfo, TypeInformation
from penstock.connectors.csv.columns import CsvColumns
from penstock.connectors.csv.field_text import Parse, field_parser, field_text
from penstock.connectors.declared_rows import RowDescription, row_type_of

_ALWAYS_QUOTED_LENGTH = 24
"""Flink quotes longer texts without looking into them."""


@dataclass(frozen=True)
class CsvDialect:
    """How a line is written."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str | None = None
    array_delimiter: str = ";"


class CsvRowDeserializationSchemaBuilder:
    """Makes a `CsvRowDeserializationSchema`."""

    def __init__(self, type_info: RowDescription) -> None:
        self._type_info = row_type_of("CsvRowDeserializationSchema", type_info)
        self._dialect = CsvDialect()
        self._allow_comments = False
        self._ignore_parse_errors = False

    def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchemaBuilder:
        """Sets what stands between fields; a comma otherwise."""
        self._dialect = replace(self._dialect, delimiter=_character("delimiter", delimiter))
        return self

    def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchemaBuilder:
        """Skips messages that begin with `#`."""
        self._allow_comments = allow_comments
        return self

    def set_array_element_delimiter(self, delimiter: str) -> CsvRowDeserializationSchemaBuilder:
        """Sets what stands between the elements of an array; a semicolon otherwise."""
        self._dialect = replace(self._dialect, array_delimiter=delimiter)
        return self

    def set_quote_character(self, c: str) -> CsvRowDeserializationSchemaBuilder:
        """Sets what stands around texts that contain delimiters; `"` otherwise."""
        self._dialect = replace(self._dialect, quote=_character("quote character", c))
        return self

    def set_escape_character(self, c: str) -> CsvRowDeserializationSchemaBuilder:
        """Sets what stands before a special character; none otherwise."""
        self._dialect = replace(self._dialect, escape=_character("escape character", c))
        return self

    def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchemaBuilder:
        """Sets the text that stands for None."""
        self._dialect = replace(self._dialect, null_literal=null_literal)
        return self

    def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchemaBuilder:
        """Makes fields that cannot be read None, and skips messages with too many fields; both are errors otherwise."""
        self._ignore_parse_errors = ignore_parse_errors
        return self

    def build(self) -> CsvRowDeserializationSchema:
        """The schema."""
        return CsvRowDeserializationSchema(
            self._type_info,
            self._dialect,
            allow_comments=self._allow_comments,
            ignore_parse_errors=self._ignore_parse_errors,
        )


class CsvRowDeserializationSchema(DeserializationSchema):
    """Each message is a line of CSV: its fields are those of the type, in their order.

    Messages without a value are skipped. Make one with `CsvRowDeserializationSchema.Builder(type_info)`.
    """

    Builder = CsvRowDeserializationSchemaBuilder

    def __init__(
        self,
        type_info: TypeInformation,
        dialect: CsvDialect | None = None,
        *,
        allow_comments: bool = False,
        ignore_parse_errors: bool = False,
    ) -> None:
        self._type_info = type_info
        self._dialect = dialect or CsvDialect()
        self._allow_comments = allow_comments
        self._ignore_parse_errors = ignore_parse_errors
        self._parsers = _parsers(type_info, self._dialect)
        self._fast = _fast_columns(type_info, self._dialect)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_parsers", "_fast")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._parsers = _parsers(self._type_info, self._dialect)
        self._fast = _fast_columns(self._type_info, self._dialect)

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        present, times_of_present, _ = with_values(messages, timestamps)
        columns = None if self._fast is None or self._allow_comments else self._fast.of_lines(present)
        if columns is not None:
            return Batch(codec_for(self._type_info), columns=columns, timestamps=times_of_present)
        return self._to_batch_one_by_one(messages, timestamps)

    def _to_batch_one_by_one(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:
        rows: list[Row] = []
        times: list[int | None] = []
        places: list[int] = []
        for place, message, timestamp in zip(*_placed(messages, timestamps), strict=True):
            try:
                row = self._row(message)
            except ValueError as problem:
                if not self._ignore_parse_errors:
                    raise DeserializationError(place, str(problem)) from None
                continue
            if row is not None:
                rows.append(row)
                times.append(timestamp)
                places.append(place)
        codec = codec_for(self._type_info)
        try:
            columns = codec.to_columns(rows)
        except TypeMismatchError as problem:
            if not self._ignore_parse_errors:
                raise DeserializationError(places[problem.index or 0], str(problem)) from None
            columns = codec.to_columns(list(map(self._with_what_fits, rows)))
        return Batch(codec, columns=columns, timestamps=times)

    def _with_what_fits(self, row: Row) -> Row:
        """The row with None for values that were read, but are none of their types: integers that are too large."""
        assert isinstance(self._type_info, CompositeTypeInfo)
        return Row(*map(_fitting, row, self._type_info.get_field_types()))

    def _row(self, message: bytes) -> Row | None:
        text = message.decode("utf-8").rstrip("\r\n")
        if self._allow_comments and text.startswith("#"):
            return None
        fields = self._split(text)
        count = len(self._parsers)
        if len(fields) != count and not (self._ignore_parse_errors and len(fields) < count):
            raise ValueError(f"it has {len(fields)} fields; expected {count}: {text!r}")
        fields += [None] * (count - len(fields))
        parsers = zip(self._parsers, fields, strict=True)
        return Row(*(self._value(name, parse, field) for (name, parse), field in parsers))

    def _split(self, text: str) -> list[str | None]:
        dialect = self._dialect
        reader = csv.reader(
            [text],
            delimiter=dialect.delimiter,
            quotechar=dialect.quote,
            quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
            escapechar=dialect.escape,
            strict=True,
        )
        try:
            return list(next(reader, []))
        except csv.Error as problem:
            raise ValueError(f"no valid CSV: {problem}: {text!r}") from None

    def _value(self, name: str, parse: Parse, field: str | None) -> Any:
        if field is None or field == self._dialect.null_literal:
            return None
        try:
            return parse(field)
        except ValueError as problem:
            if self._ignore_parse_errors:
                return None
            raise ValueError(f"field {name}: {problem}") from None


class CsvRowSerializationSchemaBuilder:
    """Makes a `CsvRowSerializationSchema`."""

    def __init__(self, type_info: RowDescription) -> None:
        self._type_info = row_type_of("CsvRowSerializationSchema", type_info)
        self._dialect = CsvDialect()
        self._line_delimiter = "\n"

    def set_field_delimiter(self, c: str) -> CsvRowSerializationSchemaBuilder:
        """Sets what stands between fields; a comma otherwise."""
        self._dialect = replace(self._dialect, delimiter=_character("delimiter", c))
        return self

    def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchemaBuilder:
        r"""Sets what ends a line: `\n` otherwise, and nothing if empty."""
        if delimiter not in ("\n", "\r", "\r\n", ""):
            raise ConfigurationError(f"a CSV line ends with \\n, \\r, \\r\\n or nothing, got {delimiter!r}")
        self._line_delimiter = delimiter
        return self

    def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchemaBuilder:
        """Sets what stands between the elements of an array; a semicolon otherwise."""
        self._dialect = replace(self._dialect, array_delimiter=delimiter)
        return self

    def disable_quote_character(self) -> CsvRowSerializationSchemaBuilder:
        """Writes texts as they are, whatever they contain."""
        self._dialect = replace(self._dialect, quote=None)
        return self

    def set_quote_character(self, c: str) -> CsvRowSerializationSchemaBuilder:
        """Sets what stands around texts that contain delimiters; `"` otherwise."""
        self._dialect = replace(self._dialect, quote=_character("quote character", c))
        return self

    def set_escape_character(self, c: str) -> CsvRowSerializationSchemaBuilder:
        """Sets what stands before a quote character inside a text; it is doubled otherwise."""
        self._dialect = replace(self._dialect, escape=_character("escape character", c))
        return self

    def set_null_literal(self, s: str) -> CsvRowSerializationSchemaBuilder:
        """Sets the text for None; empty otherwise."""
        self._dialect = replace(self._dialect, null_literal=s)
        return self

    def build(self) -> CsvRowSerializationSchema:
        """The schema."""
        return CsvRowSerializationSchema(self._type_info, self._dialect, self._line_delimiter)


class CsvRowSerializationSchema(SerializationSchema):
    """Each row is a line of CSV. Make one with `CsvRowSerializationSchema.Builder(type_info)`."""

    Builder = CsvRowSerializationSchemaBuilder

    def __init__(
        self,
        type_info: TypeInformation,
        dialect: CsvDialect | None = None,
        line_delimiter: str = "\n",
        array_delimiters: Mapping[str, str] | None = None,
    ) -> None:
        _parsers(type_info, dialect or CsvDialect())
        self._type_info = type_info
        self._array_delimiters = array_delimiters or {}
        self._dialect = dialect or CsvDialect()
        self._line_delimiter = line_delimiter
        special = (self._dialect.delimiter, self._dialect.quote, self._dialect.escape, "\r")
        self._last_unsafe = max(character for character in special if character)
        self._special = [*filter(None, special), "\n"]

    def serialize(self, element: Any) -> bytes:
        """The line, with its end."""
        return self._lines(codec_for(self._type_info).to_columns([element]))[0]

    def serialize_batch(self, batch: Batch) -> Sequence[bytes]:  # noqa: D102
        if not len(batch):
            return []
        codec = codec_for(self._type_info)
        same = batch.codec.schema is not None and codec.schema is not None and batch.codec.schema.equals(codec.schema)
        return self._lines(batch.columns if same else codec.to_columns(batch.values))

    def line(self, fields: Sequence[Any]) -> bytes:
        """The line of some values, with its end."""
        assert isinstance(self._type_info, CompositeTypeInfo)
        delimiters = [
            self._array_delimiters.get(name, self._dialect.array_delimiter)
            for name in self._type_info.get_field_names()
        ]
        texts = map(self._field, fields, delimiters)
        return (self._dialect.delimiter.join(texts) + self._line_delimiter).encode()

    def _lines(self, columns: list[pa.Array]) -> list[bytes]:
        assert isinstance(self._type_info, CompositeTypeInfo)
        names = self._type_info.get_field_names()
        rows = codec_for(self._type_info).to_values(columns)
        if rows and isinstance(rows[0], Row | tuple):
            return [self.line(list(row)) for row in rows]
        return [self.line([getattr(row, name) for name in names]) for row in rows]

    def _field(self, value: Any, array_delimiter: str) -> str:
        dialect = self._dialect
        if value is None:
            return dialect.null_literal or ""
        text = field_text(value, array_delimiter)
        if dialect.quote is None or not self._is_quoted(value, text):
            return text
        inside = dialect.quote * 2 if dialect.escape is None else dialect.escape + dialect.quote
        if dialect.escape is not None:
            text = text.replace(dialect.escape, dialect.escape * 2)
        return f"{dialect.quote}{text.replace(dialect.quote, inside)}{dialect.quote}"

    def _is_quoted(self, value: Any, text: str) -> bool:
        if isinstance(value, str):
            return self._needs_quotes(text)
        # The texts of a list may have anything in them.
        return isinstance(value, list | tuple) and any(special in text for special in self._special)

    def _needs_quotes(self, text: str) -> bool:
        """As Flink decides it: too long to look, or with a character that is not above all special ones."""
        if len(text) > _ALWAYS_QUOTED_LENGTH or "\\" in text:
            return True
        return any(character <= self._last_unsafe for character in text)


def _fitting(value: Any, field_type: TypeInformation) -> Any:
    try:
        codec_for(TupleTypeInfo([field_type])).to_columns([(value,)])
    except TypeMismatchError:
        return None
    return value


def _placed(
    messages: Sequence[bytes | None], timestamps: Timestamps
) -> tuple[Sequence[int], list[bytes], list[int | None]]:
    present, times, places = with_values(messages, timestamps)
    return places, present, times


def _parsers(type_info: TypeInformation, dialect: CsvDialect) -> list[tuple[str, Parse]]:
    assert isinstance(type_info, CompositeTypeInfo)
    fields = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
    return [(name, field_parser(name, field_type, dialect.array_delimiter)) for name, field_type in fields]


def _fast_columns(type_info: TypeInformation, dialect: CsvDialect) -> CsvColumns | None:
    assert isinstance(type_info, CompositeTypeInfo)
    return CsvColumns.of(
        type_info, dialect.delimiter, quote=dialect.quote, escape=dialect.escape, null_literal=dialect.null_literal
    )


def _character(what: str, given: str) -> str:
    if not isinstance(given, str) or len(given) != 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"a CSV {what} is one character, got {given!r}")
    return given
