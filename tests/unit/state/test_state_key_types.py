"""Types of keys are told apart where their keys have other bytes."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.common.codecs import codec_for
from penstock.state.key_encoding import encode_key
from penstock.state.key_types import encoding_name

INT, LONG, TEXT = Types.INT(), Types.LONG(), Types.STRING()
KEYS: list[tuple[Any, Any]] = [
    (INT, 7),
    (LONG, 7),
    (Types.DOUBLE(), 7.0),
    (TEXT, "7"),
    (Types.TUPLE([INT, TEXT]), (7, "a")),
    (Types.TUPLE([LONG, TEXT]), (7, "a")),
    (Types.ROW_NAMED(["n"], [INT]), Row(n=7)),
    (Types.ROW_NAMED(["n"], [LONG]), Row(n=7)),
    (Types.ROW_NAMED(["m"], [LONG]), Row(m=7)),
]


@pytest.mark.parametrize(("one", "key"), KEYS)
def test_types_of_one_name_give_equal_keys_the_same_bytes(one: Any, key: Any) -> None:
    def stored(key_type: Any, value: Any) -> bytes:
        codec = codec_for(key_type)
        return encode_key(codec.to_values(codec.to_columns([value]))[0])

    assert [encoding_name(one) == encoding_name(other) for other, _ in KEYS] == [
        stored(one, key) == stored(other, other_key) for other, other_key in KEYS
    ]


@pytest.mark.parametrize(
    "key_type", [None, Types.PICKLED_BYTE_ARRAY(), Types.TUPLE([TEXT, Types.PICKLED_BYTE_ARRAY()])]
)
def test_where_the_key_itself_decides_there_is_no_name(key_type: Any) -> None:
    assert encoding_name(key_type) == ""
