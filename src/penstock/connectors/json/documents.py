"""One JSON document: what Python makes of it, and whether Arrow's parser takes more for JSON than that."""

from __future__ import annotations

import decimal
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.common.json_depth import DEEPEST_JSON, is_too_deep

_MAY_BE_NO_NUMBER = ((b"I", b"Inf"), (b"N", b"-NaN"))
"""Each with a byte that it has: one byte is found, or not, a hundred times as fast as several."""
_NO_NUMBER = re.compile(rb"[\[:,]\s*-?(Inf(?!inity)|(?<=-)NaN)")
"""Where a value is due: names of numbers that only Arrow knows."""
BROKEN_DOCUMENT = (ValueError, RecursionError)
"""What `parsed_document` raises, and the making of values of what it returns."""


class JsonError(ValueError):
    """One document is no JSON object of the declared type: `index` is its place among those given."""

    def __init__(self, index: int, document: bytes, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.document = document
        self.reason = reason

    def shown(self) -> str:
        """The document as a message shows it."""
        text = self.document.decode("utf-8", "replace").strip()
        return text if len(text) <= 300 else text[:300] + "..."


@dataclass(frozen=True)
class BoundlessNumber:
    """A number of more digits than Python reads, or of a greater exponent. In a field that is ignored it is no harm."""

    text: str

    def __str__(self) -> str:
        return self.text


def _integer(text: str) -> int | BoundlessNumber:
    try:
        return int(text)
    except ValueError:
        return BoundlessNumber(text)


def _fraction(text: str) -> decimal.Decimal | BoundlessNumber:
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        return BoundlessNumber(text)


# Of what `json.loads` does for every document, this is done once.
_DECODER = json.JSONDecoder(parse_float=decimal.Decimal)
_DECODER_OF_ALL_NUMBERS = json.JSONDecoder(parse_float=_fraction, parse_int=_integer)


def parsed_document(document: bytes) -> Any:
    """What Python makes of a document; numbers with a fraction are decimal."""
    text = document.decode(json.detect_encoding(document), "surrogatepass")
    if is_too_deep(text):
        raise ValueError(f"more than {DEEPEST_JSON} lists and objects are in one another")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, decimal.InvalidOperation):
        return _DECODER_OF_ALL_NUMBERS.decode(text)


def reason_of(problem: Exception) -> str:
    """Why a document cannot be read, of one of `BROKEN_DOCUMENT`."""
    if isinstance(problem, json.JSONDecodeError):
        return f"no valid JSON: {problem.msg} at character {problem.pos}"
    if isinstance(problem, UnicodeDecodeError):
        return f"no valid UTF-8: {problem.reason} at byte {problem.start}"
    if isinstance(problem, RecursionError):
        return "too many lists and objects are in one another"
    return str(problem)


def are_for_arrow(data: bytes, documents: Iterable[bytes]) -> bool:
    """Whether what Arrow's parser takes of the data is JSON to Python too; of the documents only long ones matter."""
    return (
        _is_utf8(data)
        and not (any(byte in data and name in data for byte, name in _MAY_BE_NO_NUMBER) and _NO_NUMBER.search(data))
        and not any(is_too_deep(each.decode("latin-1")) for each in documents if len(each) > DEEPEST_JSON)
    )


def _is_utf8(data: bytes) -> bool:
    """The parser does not look."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
