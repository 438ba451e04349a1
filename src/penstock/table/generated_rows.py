"""The `datagen` connector: rows of random numbers and text, or of sequences, with Flink's options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from penstock.common.errors import ConfigurationError, UnsupportedError
from penstock.connectors.datagen import DataGeneratorSource
from penstock.table.schema import Schema

_ROWS_PER_SECOND = "rows-per-second"
_NUMBER_OF_ROWS = "number-of-rows"
_USUAL_ROWS_PER_SECOND = 10_000
_USUAL_LENGTH = 100
_64_BITS = (1 << 64) - 1
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "INTEGER": 32, "BIGINT": 64}
_REALS = {"FLOAT": np.finfo(np.float32), "DOUBLE": np.finfo(np.float64)}
_TEXTS = ("STRING", "CHAR", "VARCHAR")
_OF_FIELDS = ("kind", "min", "max", "length", "var-len", "start", "end", "null-rate")

Numbers = npt.NDArray[np.uint64]
Column = Callable[[Numbers], list[Any]]
"""The values of rows, by their numbers: the same for the same number, in every run."""


def generated_rows(path: str, schema: Schema, options: Mapping[str, str]) -> DataGeneratorSource:
    """The source of a table; raises `ConfigurationError` for options that it does not have."""
    fields: dict[str, dict[str, str]] = {name: {} for name in schema.columns}
    table_options: dict[str, str] = {}
    for key, value in options.items():
        field, _, option = key.removeprefix("fields.").rpartition(".")
        if key.startswith("fields.") and field in fields and option in _OF_FIELDS:
            fields[field][option] = value
        elif key in (_ROWS_PER_SECOND, _NUMBER_OF_ROWS):
            table_options[key] = value
        else:
            raise ConfigurationError(
                f"the table {path!r}: the connector 'datagen' has no option {key!r}; it has {_ROWS_PER_SECOND}, "
                f"{_NUMBER_OF_ROWS}, and fields.NAME.OPTION with {', '.join(_OF_FIELDS)} for the columns "
                f"{', '.join(fields)}"
            )
    columns = [_FieldOptions(path, name, schema.columns[name], given) for name, given in fields.items()]
    counts = [column.count for column in columns if column.count is not None]
    if _NUMBER_OF_ROWS in table_options:
        counts.append(_integer(repr(path), _NUMBER_OF_ROWS, table_options[_NUMBER_OF_ROWS]))
    rate = _integer(repr(path), _ROWS_PER_SECOND, table_options.get(_ROWS_PER_SECOND, str(_USUAL_ROWS_PER_SECOND)))
    return DataGeneratorSource(
        count=min(counts, default=None),
        rate_per_second=rate,
        type_info=schema.row_type,
        batch_function=partial(_rows, [column.values() for column in columns]),
    )


def _rows(columns: list[Column], start: int, stop: int) -> list[tuple[Any, ...]]:
    numbers = np.arange(start, stop, dtype=np.uint64)
    return list(zip(*[column(numbers) for column in columns], strict=True))


class _FieldOptions:
    """What a column is to have."""

    def __init__(self, path: str, name: str, declared: str, given: Mapping[str, str]) -> None:
        self._place = f"{path!r}, column {name!r}"
        self._given = given
        kind, _, size = declared.upper().removesuffix(" NOT NULL").partition("(")
        self._kind = kind.strip()
        self._size = int(size.rstrip(") ")) if size and self._kind in _TEXTS else None
        self._salt = crc32(f"{path}/{name}".encode())
        self._is_sequence = given.get("kind", "random") == "sequence"
        if given.get("kind", "random") not in ("random", "sequence"):
            raise ConfigurationError(f"the table {self._place}: kind {given['kind']!r}; expected random or sequence")
        self.count: int | None = None
        """How many rows there can be; None without an end."""
        if self._is_sequence:
            self._first, last = self._bound("start"), self._bound("end")
            self.count = max(0, last - self._first + 1)

    def values(self) -> Column:
        """What makes the values."""
        if self._is_sequence:
            column = partial(_sequence, self._first, as_text=self._kind in _TEXTS)
        elif self._kind in _BITS:
            most = 1 << (_BITS[self._kind] - 1)
            low, high = self._bound("min", -most), self._bound("max", most - 1)
            if not -most <= low <= high < most:
                raise ConfigurationError(f"the table {self._place}: {low} to {high} are not numbers of {self._kind}")
            column = partial(_integers, low, high, self._salt)
        elif self._kind in _REALS:
            usual = _REALS[self._kind]
            low = self._real("min", float(usual.smallest_subnormal))
            column = partial(_reals, low, self._real("max", float(usual.max)), self._salt)
        elif self._kind in _TEXTS:
            length = self._bound("length", self._size or _USUAL_LENGTH)
            column = partial(_texts, length, self._given.get("var-len") == "true", self._salt)
        elif self._kind == "BOOLEAN":
            column = partial(_booleans, self._salt)
        else:
            raise UnsupportedError(
                f"the table {self._place}: 'datagen' makes no values of {self._kind}; it makes "
                f"{', '.join([*_BITS, *_REALS, *_TEXTS, 'BOOLEAN'])}"
            )
        null_rate = self._real("null-rate", 0.0)
        return column if null_rate == 0 else partial(_with_nulls, column, null_rate, self._salt + 1)

    def _bound(self, option: str, usual: int | None = None) -> int:
        text = self._given.get(option)
        if text is None:
            if usual is None:
                raise ConfigurationError(f"the table {self._place}: a sequence needs {option}")
            return usual
        return _integer(self._place, option, text)

    def _real(self, option: str, usual: float) -> float:
        text = self._given.get(option)
        try:
            return usual if text is None else float(text)
        except ValueError:
            raise ConfigurationError(f"the table {self._place}: {option} is {text!r}; expected a number") from None


def _integer(place: str, option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"the table {place}: {option} is {text!r}; expected a whole number") from None


def _random(numbers: Numbers, salt: int) -> Numbers:
    """64 random bits of each number: the finalizer of SplitMix64."""
    with np.errstate(over="ignore"):
        bits = (numbers + np.uint64(salt + 1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64((salt << 32) & _64_BITS)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _fractions(numbers: Numbers, salt: int) -> npt.NDArray[np.float64]:
    """From 0 up to 1."""
    return (_random(numbers, salt) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _sequence(first: int, numbers: Numbers, *, as_text: bool) -> list[Any]:
    values = [first + number for number in numbers.tolist()]
    return list(map(str, values)) if as_text else values


def _integers(low: int, high: int, salt: int, numbers: Numbers) -> list[int]:
    span = high - low + 1
    bits = _random(numbers, salt)
    return [low + step for step in (bits if span == 1 << 64 else bits % np.uint64(span)).tolist()]


def _reals(low: float, high: float, salt: int, numbers: Numbers) -> list[float]:
    return (low + (high - low) * _fractions(numbers, salt)).tolist()


def _booleans(salt: int, numbers: Numbers) -> list[bool]:
    return (_random(numbers, salt) & np.uint64(1)).astype(bool).tolist()


def _texts(length: int, varies: bool, salt: int, numbers: Numbers) -> list[str]:
    """Text of hexadecimal digits."""
    words = -(-length // 16)
    bits = np.stack([_random(numbers, salt + (word << 8)) for word in range(words)], axis=1)
    texts = [row.tobytes().hex()[:length] for row in bits]
    if not varies:
        return texts
    lengths = _integers(1, length, salt + 2, numbers)
    return [text[:kept] for text, kept in zip(texts, lengths, strict=True)]


def _with_nulls(column: Column, rate: float, salt: int, numbers: Numbers) -> list[Any]:
    missing = (_fractions(numbers, salt) < rate).tolist()
    return [None if is_missing else value for value, is_missing in zip(column(numbers), missing, strict=True)]
