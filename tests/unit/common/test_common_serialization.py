"""Records to messages and back."""

from __future__ import annotations

import pytest

from penstock.common import ByteArraySchema, Encoder, Row, SimpleStringSchema
from penstock.common.errors import ConfigurationError, TypeMismatchError
from penstock.common.serialization import RowFieldExtractorSchema


def test_strings_come_back_in_any_charset() -> None:
    for charset in ("UTF-8", "utf-16", "latin-1"):
        schema = SimpleStringSchema(charset)
        assert schema.to_batch([schema.serialize("Zürich"), None], [1, 2]).values == ["Zürich"]


def test_bytes_come_back() -> None:
    schema = ByteArraySchema()
    assert schema.to_batch([schema.serialize(bytearray(b"\x00\xff"))], [None]).values == [b"\x00\xff"]


def test_what_is_no_string_and_no_bytes_is_refused() -> None:
    with pytest.raises(TypeMismatchError, match=r"writes strings, got 1 \(int\)"):
        SimpleStringSchema().serialize(1)
    with pytest.raises(TypeMismatchError, match="must be bytes"):
        ByteArraySchema().serialize("text")
    with pytest.raises(ConfigurationError, match="unknown charset 'nope'"):
        SimpleStringSchema("nope")


def test_a_field_of_a_row_is_the_message() -> None:
    assert RowFieldExtractorSchema(1).serialize(Row("key", b"value")) == b"value"
    with pytest.raises(TypeMismatchError, match=r"field 0 must be bytes, got 'key'"):
        RowFieldExtractorSchema(0).serialize(Row("key", b"value"))
    with pytest.raises(ConfigurationError, match="0 or more"):
        RowFieldExtractorSchema(-1)


def test_an_encoder_writes_lines() -> None:
    assert Encoder.simple_string_encoder("latin-1").encode("ü") == b"\xfc\n"
