"""The columns and the dialect of CSV files, with PyFlink's names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from penstock.common.batch import Batch
from penstock.common.errors import ConfigurationError, UnsupportedError
from penstock.common.serialization import BulkWriter, RowDataBulkWriterFactory
from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types
from penstock.connectors.csv.rows import CsvDialect, CsvRowSerializationSchema
from penstock.connectors.ddl import type_of_ddl
from penstock.connectors.declared_rows import DeclaredRow, check_fits
from penstock.connectors.files.formats.csv import CsvFormat
from penstock.connectors.files.formats.stream_format import StreamFormat

ColumnType = TypeInformation | str
"""A type of ours, or its name in DDL: `Types.INT()`, `"INT"`."""


@dataclass(frozen=True)
class CsvColumn:
    """One column; `separator` stands between the elements of an array."""

    name: str
    type_info: TypeInformation
    separator: str | None = None


@dataclass(frozen=True)
class CsvSchema:
    """The columns of CSV files, and how they are written. Make one with `CsvSchema.builder()`."""

    columns: tuple[CsvColumn, ...]
    dialect: CsvDialect = field(default_factory=CsvDialect)
    allow_comments: bool = False
    line_separator: str = "\n"
    skip_first_data_row: bool = False
    strict_headers: bool = False
    use_header: bool = False

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Begins one."""
        return CsvSchemaBuilder()

    @property
    def row_type(self) -> RowTypeInfo:
        """The type of the rows."""
        if not self.columns:
            raise ConfigurationError("a CSV schema needs at least one column")
        return Types.ROW_NAMED([column.name for column in self.columns], [column.type_info for column in self.columns])

    def size(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class CsvSchemaBuilder:
    """Makes a `CsvSchema`."""

    def __init__(self) -> None:
        self._schema = CsvSchema(())
        self._separators: dict[str, str] = {}

    def build(self) -> CsvSchema:
        """The schema."""
        separators = self._separators
        default = self._schema.dialect.array_delimiter
        return replace(
            self._schema,
            columns=tuple(
                column if column.separator is None else replace(column, separator=separators.get(column.name, default))
                for column in self._schema.columns
            ),
        )

    def add_array_column(
        self, name: str, separator: str = ";", element_type: ColumnType | None = None
    ) -> CsvSchemaBuilder:
        """Adds a list of texts, or of the given type, with the separator between them."""
        self._separators[name] = separator
        return self._add(
            CsvColumn(name, Types.LIST(_type("STRING" if element_type is None else element_type)), separator)
        )

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Adds a boolean."""
        return self._add(CsvColumn(name, Types.BOOLEAN()))

    def add_number_column(self, name: str, number_type: ColumnType | None = None) -> CsvSchemaBuilder:
        """Adds a number: a long, or what is given."""
        return self._add(CsvColumn(name, _type("BIGINT" if number_type is None else number_type)))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Adds a text."""
        return self._add(CsvColumn(name, Types.STRING()))

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Adds the columns of another schema."""
        for column in schema.columns:
            if column.separator is not None:
                self._separators[column.name] = column.separator
            self._add(column)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Begins with the columns anew."""
        return self._with(columns=())

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Skips lines that begin with `#`."""
        return self._with(allow_comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Refused: a row has the fields that are declared."""
        raise UnsupportedError(
            f"set_any_property_name({name!r}): a row has the columns that are declared, and no others"
        )

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Makes every array a list of one element."""
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Makes the array of one column a list of one element."""
        self._separators[self._schema.columns[index].name] = ""
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Sets what stands between the elements of all arrays so far; `;` otherwise."""
        self._separators = dict.fromkeys(self._separators, separator)
        return self._dialect(array_delimiter=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Sets what stands between columns; a comma otherwise."""
        return self._dialect(delimiter=_character("Column separator", char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Takes every character as it is."""
        return self._dialect(escape=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Sets what stands before a special character."""
        return self._dialect(escape=_character("Escape char", char))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        r"""Sets what ends a line when it is written; `\n` otherwise."""
        return self._with(line_separator=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Sets the text for None; empty otherwise."""
        return self._dialect(null_literal=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Takes quotes for characters like any other."""
        return self._dialect(quote=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Sets what stands around texts with special characters; `"` otherwise."""
        return self._dialect(quote=_character("Quote char", char))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Skips the first row of data."""
        return self._with(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Refuses files whose header has other columns, or in another order."""
        return self._with(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Takes the first line for the names of the columns, and writes it."""
        return self._with(use_header=use)

    def size(self) -> int:
        """How many columns there are so far."""
        return len(self._schema.columns)

    def __len__(self) -> int:
        return self.size()

    def _add(self, column: CsvColumn) -> CsvSchemaBuilder:
        return self._with(columns=(*self._schema.columns, column))

    def _with(self, **changed: object) -> CsvSchemaBuilder:
        self._schema = replace(self._schema, **changed)  # type: ignore[arg-type]
        return self

    def _dialect(self, **changed: str | None) -> CsvSchemaBuilder:
        return self._with(dialect=replace(self._schema.dialect, **changed))  # type: ignore[arg-type]


class CsvReaderFormat(CsvFormat, StreamFormat):
    """The rows of CSV files that a `CsvSchema` describes."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """The format of the schema's files."""
        return CsvReaderFormat(
            schema.row_type,
            header=schema.use_header,
            delimiter=schema.dialect.delimiter,
            quote_character=schema.dialect.quote,
            escape_character=schema.dialect.escape,
            null_literal=schema.dialect.null_literal,
            allow_comments=schema.allow_comments,
            skip_first_row=schema.skip_first_data_row,
            strict_header=schema.strict_headers,
            array_separators={
                column.name: column.separator for column in schema.columns if column.separator is not None
            },
        )


class CsvBulkWriters:
    """Makes the writers of CSV files."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> RowDataBulkWriterFactory:
        """Writers of rows that the schema describes."""
        return _CsvSchemaWriters(schema)


class _CsvLineWriter(BulkWriter):
    def __init__(self, file: BinaryIO, schema: CsvSchema) -> None:
        self._file = file
        self._lines = CsvRowSerializationSchema(
            schema.row_type,
            schema.dialect,
            schema.line_separator,
            array_delimiters={column.name: column.separator for column in schema.columns if column.separator},
        )
        if schema.use_header:
            header = self._lines.line([column.name for column in schema.columns])
            self._file.write(header)

    def write(self, batch: Batch) -> None:
        self._file.write(b"".join(self._lines.serialize_batch(batch)))


@dataclass(frozen=True)
class _CsvSchemaWriters(RowDataBulkWriterFactory):
    schema: CsvSchema

    suffix = ".csv"

    def create(self, file: BinaryIO) -> BulkWriter:
        return _CsvLineWriter(file, self.schema)

    def for_records(self, record_type: TypeInformation) -> _CsvSchemaWriters:
        check_fits("CSV", record_type, DeclaredRow.of("CSV", self.schema.row_type))
        return self

    def get_row_type(self) -> TypeInformation:
        return self.schema.row_type

    def merge(self, inputs: Iterable[BinaryIO], output: BinaryIO) -> None:
        for index, file in enumerate(inputs):
            if index and self.schema.use_header:
                _skip_line(file, output, self.schema.line_separator.encode() or b"\n")
            while block := file.read(1 << 20):
                output.write(block)


def _skip_line(file: BinaryIO, output: BinaryIO, end: bytes) -> None:
    """Leaves the first line of a file out, and writes what came with it."""
    seen = b""
    while block := file.read(1 << 16):
        seen += block
        place = seen.find(end)
        if place >= 0:
            output.write(seen[place + len(end) :])
            return


def _type(given: ColumnType) -> TypeInformation:
    return type_of_ddl(given).type_info if isinstance(given, str) else given


def _character(what: str, char: str) -> str:
    if len(char) != 1:
        raise ConfigurationError(f"{what} must be a single char, got {char!r}")
    return char
