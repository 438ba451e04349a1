"""Rows of CSV files that are not as they should be, and lines that are no rows."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, cast

import pyarrow as pa

from penstock.common.errors import SourceError
from penstock.common.kernels import pc
from penstock.common.serialization import DeserializationError
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.tolerant_reading import readable_parts

_NUMBER = r"^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"


class TolerantCsv:
    """Converts rows of text, and gives those that cannot be converted, or have too few or many fields, away."""

    def __init__(
        self,
        schema: pa.Schema,
        path: str,
        broken: BrokenRecords,
        delimiter: str,
        first_row: int,
        array_separators: Mapping[str, str],
    ) -> None:
        self._schema = schema
        self._path = path
        self._broken = broken
        self._delimiter = delimiter
        self._first_row = first_row
        self._array_separators = array_separators
        self._invalid: list[int] = []
        """The numbers of rows with a wrong number of fields, which Arrow leaves out."""
        self._rows = 0

    def take_row(self, row: Any) -> str:
        """Called by Arrow with a row that has too few or too many fields."""
        number = row.number
        where = self._path if number is None else f"{self._path}, row {number}"
        if number is not None:
            self._invalid.append(number)
        self._broken.add(
            row.text.encode(), where, f"it has {row.actual_columns} fields; expected {row.expected_columns}"
        )
        return "skip"

    def converted(self, records: pa.RecordBatch, null_literal: str | None, numbers: Sequence[str]) -> list[pa.Array]:
        """The columns in their types, without rows that have a field of another."""
        parts, broken_places = readable_parts(
            records.num_rows, lambda start, end: self._cast(records.slice(start, end - start), null_literal, numbers)
        )
        for bad in broken_places:
            row = records.slice(bad.place, 1).to_pylist()[0]
            text = self._delimiter.join("" if value is None else value for value in row.values())
            self._broken.add(text.encode(), f"{self._path}, row {self._number_of(self._rows + bad.place)}", bad.reason)
        self._rows += records.num_rows
        if not parts:
            return [pa.array([], field.type) for field in self._schema]
        return [pa.concat_arrays(columns) for columns in zip(*(part for _, _, part in parts), strict=True)]

    def check_numbers(self, column: pa.Array, name: str) -> None:
        """Refuses text in a column of numbers of any size, which Arrow takes for text."""
        bad = _first_no_number(column)
        if bad is not None:
            raise SourceError(
                f"{self._path}, row {self._number_of(self._rows + bad)}: field {name}: {column[bad].as_py()!r} is no "
                "number"
            )

    def _cast(self, records: pa.RecordBatch, null_literal: str | None, numbers: Sequence[str]) -> list[pa.Array]:
        columns: list[pa.Array] = []
        for field in self._schema:
            column = records.column(field.name)
            if field.name in numbers:
                bad = _first_no_number(column)
                if bad is not None:
                    raise DeserializationError(bad, f"field {field.name}: {column[bad].as_py()!r} is no number")
            if field.type == pa.string():
                # Without a literal for None, an empty text is an empty text, except where it would be a number.
                is_text = null_literal is None and field.name not in numbers
                columns.append(pc.fill_null(column, "") if is_text else column)
                continue
            separator = self._array_separators.get(field.name)
            try:
                columns.append(_converted(column, field, separator))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise _first_misfit(column, field, separator) from None
        return columns

    def _number_of(self, index: int) -> int:
        """The number of a row in the file, of its place among the rows that Arrow has not left out."""
        number = index + self._first_row
        while True:
            shifted = index + self._first_row + bisect_right(self._invalid, number)
            if shifted == number:
                return number
            number = shifted


def _first_no_number(column: pa.Array) -> int | None:
    fits = pc.fill_null(pc.match_substring_regex(column, _NUMBER), True)
    bad = pc.index(fits, False).as_py()
    return None if bad < 0 else bad


def lists_of(column: pa.Array, list_type: pa.DataType, separator: str) -> pa.Array:
    """Lists of what stands between the separators; without one, of the one text."""
    split = [
        None if text is None else [] if not text else text.split(separator) if separator else [text]
        for text in column.to_pylist()
    ]
    return pa.array(split, pa.list_(pa.string())).cast(list_type)


def _converted(column: pa.Array, field: pa.Field, separator: str | None) -> pa.Array:
    return column.cast(field.type) if separator is None else lists_of(column, field.type, separator)


def _first_misfit(column: pa.Array, field: pa.Field, separator: str | None) -> DeserializationError:
    good, bad = 0, len(column)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            _converted(column.slice(0, middle), field, separator)
            good = middle
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            bad = middle
    return DeserializationError(good, f"field {field.name}: {column[good].as_py()!r} is no {field.type}")


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
