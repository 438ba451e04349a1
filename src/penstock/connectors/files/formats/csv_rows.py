"""Rows of CSV files that are not as they should be, and lines that are no rows."""

from __future__ import annotations

import codecs
import io
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.csv

from penstock.common.calendar_columns import is_within_calendar
from penstock.common.errors import SourceError
from penstock.common.kernels import pc
from penstock.common.serialization import DeserializationError
from penstock.common.typeinfo import BasicType, BasicTypeInfo, CompositeTypeInfo
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.files.formats.csv_bytes import BytesAsCharacters, as_bytes, as_characters, texts_of
from penstock.connectors.tolerant_reading import readable_parts

_NUMBERS = {
    BasicType.BIG_DEC: r"^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$",
    BasicType.BIG_INT: r"^\s*[+-]?\d+\s*$",
}
"""Of any size, which travel as text: Arrow takes everything for them."""
_OPTIONS = pyarrow.csv.ConvertOptions()
_BOOLEANS = pa.array([*_OPTIONS.true_values, *_OPTIONS.false_values])
_NO_TIME_OF_PYTHON = "it is not between the years 1 and 9999"


class TolerantCsv:
    """Converts rows of text, and gives those that cannot be converted, or have too few or many fields, away."""

    def __init__(
        self,
        type_info: CompositeTypeInfo,
        path: str,
        broken: BrokenRecords,
        delimiter: str,
        first_row: int,
        array_separators: Mapping[str, str],
        charset: str,
    ) -> None:
        self._schema = pa.schema(type_info.arrow_fields())
        fields = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
        self._numbers = {
            name: _NUMBERS[each.basic_type]
            for name, each in fields
            if isinstance(each, BasicTypeInfo) and each.basic_type in _NUMBERS
        }
        self._path = path
        self._broken = broken
        self._delimiter = delimiter
        self._first_row = first_row
        self._array_separators = array_separators
        self._has_bytes = codecs.lookup(charset).name == "utf-8"
        """Whether Arrow, which tells of no row that is no UTF-8, is given bytes as characters."""
        self._invalid: list[int] = []
        """The numbers of rows with a wrong number of fields, which Arrow leaves out."""
        self._rows = 0
        """How many there were before those that are looked at."""

    def file_for_arrow(self, file: BinaryIO) -> BinaryIO:
        """The file as Arrow is to read it."""
        return cast(BinaryIO, BytesAsCharacters(file)) if self._has_bytes else file

    def as_read(self, text: str) -> str:
        """A text of the file as Arrow reads it."""
        return as_characters(text.encode()) if self._has_bytes else text

    def as_written(self, text: str) -> str:
        """What Arrow says as the file has it."""
        return as_bytes(text).decode(errors="replace") if self._has_bytes else text

    def take_row(self, row: Any) -> str:
        """Called by Arrow with a row that has too few or too many fields."""
        number = row.number
        where = self._path if number is None else f"{self._path}, row {number}"
        if number is not None:
            self._invalid.append(number)
        text = as_bytes(row.text) if self._has_bytes else row.text.encode()
        self._broken.add(text, where, f"it has {row.actual_columns} fields; expected {row.expected_columns}")
        return "skip"

    def converted(self, records: pa.RecordBatch, null_literal: str | None) -> list[pa.Array]:
        """The columns in their types, without rows that have a field of another."""
        columns = list(map(texts_of, records.columns)) if self._has_bytes else records.columns
        records = pa.RecordBatch.from_arrays(columns, self._schema.names)
        parts, broken_places = readable_parts(
            records.num_rows, lambda start, end: self._cast(records.slice(start, end - start), null_literal)
        )
        for bad in broken_places:
            fields = [column.slice(bad.place, 1).cast(pa.binary())[0].as_py() for column in records.columns]
            text = self._delimiter.encode().join(b"" if field is None else field for field in fields)
            self._broken.add(text, f"{self._path}, row {self._number_of(self._rows + bad.place)}", bad.reason)
        self._rows += records.num_rows
        if not parts:
            return [pa.array([], field.type) for field in self._schema]
        return [pa.concat_arrays(columns) for columns in zip(*(part for _, _, part in parts), strict=True)]

    def checked(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """The columns that Arrow has converted; refuses text where a number is due, and times that are not Python's."""
        checked: list[pa.Array] = []
        for field, column in zip(self._schema, columns, strict=True):
            try:
                checked.append(self._with_numbers(column, field.name))
                if not is_within_calendar(column):
                    place = _first(column, lambda part: not is_within_calendar(part))
                    raise DeserializationError(place, f"field {field.name}: {_NO_TIME_OF_PYTHON}")
            except DeserializationError as problem:
                row = self._number_of(self._rows + problem.index)
                raise SourceError(f"{self._path}, row {row}: {problem.reason}") from None
        self._rows += len(columns[0])
        return checked

    def _with_numbers(self, column: pa.Array, name: str) -> pa.Array:
        """The column; where it has numbers that travel as text, an empty text is none."""
        pattern = self._numbers.get(name)
        if pattern is None:
            return column
        column = pc.replace_with_mask(column, pc.equal(column, ""), pa.scalar(None, pa.string()))
        place = pc.index(pc.fill_null(pc.match_substring_regex(column, pattern), True), False).as_py()
        if place >= 0:
            raise DeserializationError(place, f"field {name}: {column[place].as_py()!r} is no number")
        return column

    def _cast(self, records: pa.RecordBatch, null_literal: str | None) -> list[pa.Array]:
        columns: list[pa.Array] = []
        for field in self._schema:
            column = records.column(field.name)
            if pa.types.is_binary(field.type):
                columns.append(_with_empty_texts(column, null_literal).cast(pa.binary()))
                continue
            if not _is_utf8(column):
                place = _first(column, lambda part: not _is_utf8(part))
                raise DeserializationError(place, f"field {field.name}: it is no valid UTF-8")
            if field.name in self._numbers:
                columns.append(self._with_numbers(column, field.name))
            elif field.type == pa.string():
                columns.append(_with_empty_texts(column, null_literal))
            else:
                separator = self._array_separators.get(field.name)
                if separator is not None:
                    column = _with_empty_texts(column, null_literal)
                columns.append(_converted(column, field, separator))
        return columns

    def _number_of(self, index: int) -> int:
        """The number of a row in the file, of its place among the rows that Arrow has not left out."""
        number = index + self._first_row
        while True:
            shifted = index + self._first_row + bisect_right(self._invalid, number)
            if shifted == number:
                return number
            number = shifted


def lists_of(column: pa.Array, list_type: pa.DataType, separator: str) -> pa.Array:
    """Lists of what stands between the separators; without one, of the one text."""
    split = [
        None if text is None else [] if not text else text.split(separator) if separator else [text]
        for text in column.to_pylist()
    ]
    return pa.array(split, pa.list_(pa.string())).cast(list_type)


def _with_empty_texts(column: pa.Array, null_literal: str | None) -> pa.Array:
    """Without a literal for None, an empty text is an empty text."""
    return pc.fill_null(column, "") if null_literal is None else column


def _converted(column: pa.Array, field: pa.Field, separator: str | None) -> pa.Array:
    """The texts in their type; raises `DeserializationError` with the place of the first one that is none of it."""
    made = _made_of(column, field.type, separator)
    if made is None:
        place = _first(column, lambda part: _made_of(part, field.type, separator) is None)
        raise DeserializationError(place, f"field {field.name}: {column[place].as_py()!r} is no {field.type}")
    return made


def _made_of(texts: pa.Array, column_type: pa.DataType, separator: str | None) -> pa.Array | None:
    """None where one of the texts is refused, or is a time that Python does not have."""
    try:
        made = _as_in_files(texts, column_type) if separator is None else lists_of(texts, column_type, separator)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return made if is_within_calendar(made) else None


def _as_in_files(texts: pa.Array, column_type: pa.DataType) -> pa.Array:
    """What Arrow makes of texts where it reads a file: a cast, which is quick, but not quite the same.

    It takes more for booleans and has no times of day. Spaces are allowed around all that is no boolean or timestamp.
    """
    if pa.types.is_boolean(column_type):
        _refuse_unless(pc.is_in(texts, _BOOLEANS), texts)
    elif not pa.types.is_timestamp(column_type):
        texts = pc.ascii_trim(texts, " \t")
    if not pa.types.is_time(column_type):
        return pc.cast(texts, column_type)
    _refuse_unless(pc.match_substring(texts, ":"), texts)
    texts = pc.replace_substring_regex(texts, r"^(\d\d:\d\d:\d\d)\.$", r"\1")
    return pc.cast(pc.cast(pc.binary_join_element_wise("1970-01-01", texts, " "), pa.timestamp("us")), column_type)


def _refuse_unless(fits: pa.Array, texts: pa.Array) -> None:
    if pc.all(pc.or_(fits, pc.is_null(texts))).as_py() is False:
        raise pa.ArrowInvalid


def _first(column: pa.Array, is_bad: Callable[[pa.Array], bool]) -> int:
    """The place of the first value that makes a column bad."""
    good, bad = 0, len(column)
    while bad - good > 1:
        middle = (good + bad) // 2
        if is_bad(column.slice(0, middle)):
            bad = middle
        else:
            good = middle
    return good


def _is_utf8(column: pa.Array) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


class WithoutComments(io.RawIOBase):
    """A file without the lines that begin with `#`."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._lines = io.BufferedReader(cast(Any, file), 1 << 20) if isinstance(file, io.RawIOBase) else file
        self._rest = b""

    def readable(self) -> bool:
        """For Arrow."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes that are no comment."""
        kept = [self._rest]
        size = len(self._rest)
        while size < len(buffer):
            line = self._lines.readline()
            if not line:
                break
            if not line.startswith(b"#"):
                kept.append(line)
                size += len(line)
        data = b"".join(kept)
        taken, self._rest = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)
