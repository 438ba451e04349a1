"""The columns of a table as text: `id BIGINT, price DECIMAL(10, 2), tags ARRAY<STRING>`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from penstock.common.errors import ConfigurationError, UnsupportedError
from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types

_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([A-Za-z_][A-Za-z0-9_]*)|(\d+)|([(),<>:]))")
_BYTES: Callable[[], TypeInformation] = lambda: Types.PRIMITIVE_ARRAY(Types.BYTE())  # noqa: E731
_SIMPLE: dict[str, Callable[[], TypeInformation]] = {
    "BOOLEAN": Types.BOOLEAN,
    "TINYINT": Types.BYTE,
    "SMALLINT": Types.SHORT,
    "INT": Types.INT,
    "INTEGER": Types.INT,
    "BIGINT": Types.LONG,
    "FLOAT": Types.FLOAT,
    "REAL": Types.FLOAT,
    "DOUBLE": Types.DOUBLE,
    "STRING": Types.STRING,
    "TEXT": Types.STRING,
    "CHAR": Types.STRING,
    "VARCHAR": Types.STRING,
    "BINARY": _BYTES,
    "VARBINARY": _BYTES,
    "BYTES": _BYTES,
    "DATE": Types.SQL_DATE,
    "TIME": Types.SQL_TIME,
    "TIMESTAMP": Types.SQL_TIMESTAMP,
    "TIMESTAMP_LTZ": Types.INSTANT,
}
_DECIMALS = ("DECIMAL", "NUMERIC", "DEC")


class Column(NamedTuple):
    """The type of values, and their type in a file."""

    type_info: TypeInformation
    file_type: pa.DataType


def columns_of_ddl(text: str) -> tuple[RowTypeInfo, pa.Schema]:
    """The row that DDL text describes, and the columns of a file of such rows.

    >>> columns_of_ddl("id BIGINT NOT NULL, price DECIMAL(10, 2)")[0]
    RowTypeInfo(id: Long, price: BigDecimal)
    """
    parser = _Parser(text)
    names, columns = parser.fields(())
    parser.expect_end()
    schema = pa.schema([pa.field(name, column.file_type) for name, column in zip(names, columns, strict=True)])
    return Types.ROW_NAMED(names, [column.type_info for column in columns]), schema


def type_of_ddl(text: str) -> Column:
    """One type: `DECIMAL(10, 2)`.

    >>> type_of_ddl("ARRAY<INT>").type_info
    ListTypeInfo<Integer>
    """
    parser = _Parser(text)
    column = parser.type()
    parser.expect_end()
    return column


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise ConfigurationError(f"DDL {text!r} cannot be read from character {position} on")
            quoted, word, number, mark = match.groups()
            if quoted is not None:
                self._tokens.append(("name", quoted.replace("``", "`")))
            else:
                self._tokens.append(("word", word) if word else ("number", number) if number else ("mark", mark))
            position = match.end()
        self._next = 0

    def fields(self, ends: tuple[str, ...]) -> tuple[list[str], list[Column]]:
        """`name TYPE, ...` up to one of the marks, which stays."""
        names: list[str] = []
        columns: list[Column] = []
        while True:
            names.append(self._take("name", "word"))
            self._skip(":")
            columns.append(self.type())
            if not self._skip_words("NOT", "NULL"):
                self._skip_words("NULL")
            if not self._skip(","):
                break
        if ends and self._peek()[1] not in ends:
            raise self._wrong(f"{' or '.join(ends)}")
        return names, columns

    def type(self) -> Column:
        """A type with its parameters."""
        name = self._take("word").upper()
        if name in _DECIMALS:
            precision, scale = self._numbers((10, 0))
            return Column(Types.BIG_DEC(), pa.decimal128(precision, scale))
        if name == "ARRAY":
            element = self._of_brackets()
            return Column(Types.LIST(element.type_info), pa.list_(element.file_type))
        if name in ("MAP", "ROW", "STRUCT"):
            return self._map() if name == "MAP" else self._row()
        if name not in _SIMPLE:
            raise UnsupportedError(
                f"DDL {self._text!r}: the type {name} is not known; {', '.join((*_SIMPLE, *_DECIMALS))}, ARRAY, MAP "
                "and ROW are"
            )
        self._numbers(())
        if name == "DOUBLE":
            self._skip_words("PRECISION")
        if name == "TIMESTAMP" and self._skip_words("WITH", "LOCAL", "TIME", "ZONE"):
            name = "TIMESTAMP_LTZ"
        self._skip_words("WITHOUT", "TIME", "ZONE")
        type_info = _SIMPLE[name]()
        return Column(type_info, type_info.column_type())

    def expect_end(self) -> None:
        """Refuses what is left."""
        if self._next < len(self._tokens):
            raise self._wrong("the end, or a comma")

    def _map(self) -> Column:
        self._expect("<")
        key = self.type()
        self._expect(",")
        value = self.type()
        self._expect(">")
        return Column(Types.MAP(key.type_info, value.type_info), pa.map_(key.file_type, value.file_type))

    def _row(self) -> Column:
        end = {"<": ">", "(": ")"}[self._expect("<", "(")]
        names, columns = self.fields((end,))
        self._expect(end)
        fields = [pa.field(name, column.file_type) for name, column in zip(names, columns, strict=True)]
        return Column(Types.ROW_NAMED(names, [column.type_info for column in columns]), pa.struct(fields))

    def _of_brackets(self) -> Column:
        self._expect("<")
        inner = self.type()
        self._skip_words("NOT", "NULL")
        self._expect(">")
        return inner

    def _numbers(self, default: tuple[int, ...]) -> tuple[int, ...]:
        if not self._skip("("):
            return default
        numbers = [int(self._take("number"))]
        while self._skip(","):
            numbers.append(int(self._take("number")))
        self._expect(")")
        return (*numbers, *default[len(numbers) :])

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("end", "the end")

    def _take(self, *kinds: str) -> str:
        kind, value = self._peek()
        if kind not in kinds:
            raise self._wrong("a name" if "name" in kinds else f"a {kinds[0]}")
        self._next += 1
        return value

    def _expect(self, *marks: str) -> str:
        kind, value = self._peek()
        if kind != "mark" or value not in marks:
            raise self._wrong(" or ".join(marks))
        self._next += 1
        return value

    def _skip(self, mark: str) -> bool:
        if self._peek() != ("mark", mark):
            return False
        self._next += 1
        return True

    def _skip_words(self, *words: str) -> bool:
        found = [value.upper() for kind, value in self._tokens[self._next : self._next + len(words)] if kind == "word"]
        if found != list(words):
            return False
        self._next += len(words)
        return True

    def _wrong(self, expected: str) -> ConfigurationError:
        return ConfigurationError(f"DDL {self._text!r}: expected {expected}, found {self._peek()[1]!r}")
