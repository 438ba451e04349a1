"""Encoded keys as Arrow columns and back.

The form of a column of keys says how they are shown: `long`, `double`, `string`, `bytes`, `boolean`, `date`,
`timestamp`; `{"tuple": [form, ...]}` with a column for each item; and `encoded`, the bytes themselves, for all else
and for columns of several forms. Nothing is looked up or imported to show a key.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.errors import KeyEncodingError, StateCorruptionError
from penstock.state.key_encoding import decode_key, encode_key

ENCODED = "encoded"
KeyForm = Any

_FORM_OF_TAG = {
    0x01: "boolean",
    0x02: "boolean",
    0x03: "long",
    0x05: "double",
    0x07: "string",
    0x08: "bytes",
    0x09: "date",
    0x0B: "timestamp",
}
_TUPLE_TAG = 0x0D
_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    ENCODED: pa.binary(),
}
_ENCODED_LONG = np.dtype([("tag", "u1"), ("value", ">u8")])
_SIGN = np.uint64(1 << 63)
_MOST_ITEMS = 64
_TEXT_HEAD = 5
"""The tag and the length of text."""


def key_form(keys: Sequence[bytes]) -> KeyForm:
    """The form that shows all of some encoded keys."""
    if not keys:
        return ENCODED
    tags = {key[0] for key in keys if key}
    forms = {_FORM_OF_TAG.get(tag, ENCODED) for tag in tags}
    if tags == {_TUPLE_TAG}:
        return _tuple_form(keys)
    if len(forms) > 1 or b"" in keys:
        return ENCODED
    (form,) = forms
    return form if _shows(form, keys) else ENCODED


def _tuple_form(keys: Sequence[bytes]) -> KeyForm:
    # Keys of classes are not decoded: that would import the classes.
    if not all(map(_is_plain_tuple, keys)):
        return ENCODED
    items = [decode_key(key) for key in keys]
    lengths = {len(each) for each in items}
    if len(lengths) != 1 or not 0 < next(iter(lengths)) <= _MOST_ITEMS:
        return ENCODED
    forms = [key_form([encode_key(item) for item in column]) for column in zip(*items, strict=True)]
    return ENCODED if any(form == ENCODED or not isinstance(form, str) for form in forms) else {"tuple": forms}


def _is_plain_tuple(key: bytes) -> bool:
    """Whether all items have tags that columns show; looks at tags and lengths only."""
    at, count = 5, int.from_bytes(key[1:5], "big")
    for _ in range(count):
        if at >= len(key):
            return False
        form = _FORM_OF_TAG.get(key[at])
        if form is None:
            return False
        if form in ("string", "bytes"):
            at += 5 + int.from_bytes(key[at + 1 : at + 5], "big")
        else:
            at += {"boolean": 1, "date": 5}.get(form, 9)
    return at == len(key)


def _shows(form: str, keys: Sequence[bytes]) -> bool:
    if form == ENCODED:
        return True
    if form == "long":
        return set(map(len, keys)) == {_ENCODED_LONG.itemsize}
    if form in ("string", "bytes"):
        return _shows_text(form, keys)
    try:
        return keys_from_column(form, _column(form, keys)) == list(keys)
    except (KeyEncodingError, StateCorruptionError, ValueError, OverflowError, pa.ArrowException):
        return False


def _shows_text(form: str, keys: Sequence[bytes]) -> bool:
    """Whether the lengths are right, and text is such that a column can have it."""
    if min(map(len, keys)) < _TEXT_HEAD:
        return False
    said = np.frombuffer(b"".join([key[1:_TEXT_HEAD] for key in keys]), ">u4")
    if not np.array_equal(said + np.int64(_TEXT_HEAD), np.fromiter(map(len, keys), np.int64, len(keys))):
        return False
    try:
        _column(form, keys)
    except pa.ArrowException:
        return False
    return True


def key_columns(form: KeyForm, keys: Sequence[bytes], name: str) -> dict[str, pa.Array]:
    """The columns of encoded keys, by their names: `name`, or `name_0`, `name_1`, ... for tuples."""
    if isinstance(form, str):
        return {name: _column(form, keys)}
    items = list(zip(*map(decode_key, keys), strict=True)) if keys else [()] * len(form["tuple"])
    return {
        f"{name}_{place}": _column(each, [encode_key(item) for item in column])
        for place, (each, column) in enumerate(zip(form["tuple"], items, strict=True))
    }


def key_fields(form: KeyForm, name: str) -> list[pa.Field]:
    """The Arrow fields of those columns; raises `StateCorruptionError` for what is no form."""
    if isinstance(form, str) and form in _ARROW:
        return [pa.field(name, _ARROW[form])]
    items = form.get("tuple") if isinstance(form, Mapping) else None
    if not isinstance(items, list) or not all(isinstance(each, str) and each in _ARROW for each in items):
        raise StateCorruptionError(f"{form!r} is no form of a key")
    return [pa.field(f"{name}_{place}", _ARROW[each]) for place, each in enumerate(items)]


def keys_from_columns(form: KeyForm, columns: Mapping[str, pa.Array], name: str) -> list[bytes]:
    """The encoded keys again."""
    if isinstance(form, str):
        return keys_from_column(form, columns[name])
    items = [_values(each, columns[f"{name}_{place}"]) for place, each in enumerate(form["tuple"])]
    return [encode_key(tuple(row)) for row in zip(*items, strict=True)]


def _column(form: str, keys: Sequence[bytes]) -> pa.Array:
    if form == ENCODED:
        return pa.array(keys, pa.binary())
    if form == "long":
        values = np.frombuffer(b"".join(keys), _ENCODED_LONG)["value"].astype(np.uint64)
        return pa.array((values ^ _SIGN).view(np.int64), pa.int64())
    if form in ("string", "bytes"):
        return pa.array([key[_TEXT_HEAD:] for key in keys], pa.binary()).cast(_ARROW[form])
    return pa.array(list(map(decode_key, keys)), _ARROW[form])


def keys_from_column(form: str, column: pa.Array) -> list[bytes]:
    """The encoded keys that a column shows."""
    if column.null_count:
        raise StateCorruptionError("a key is missing")
    if form == "long":
        values = np.empty(len(column), _ENCODED_LONG)
        values["tag"] = 3
        values["value"] = column.to_numpy().view(np.uint64) ^ _SIGN
        data = values.tobytes()
        return [data[at : at + 9] for at in range(0, len(data), 9)]
    if form == ENCODED:
        return column.to_pylist()
    return list(map(encode_key, _values(form, column)))


def _values(form: str, column: pa.Array) -> list[Any]:
    if column.null_count:
        raise StateCorruptionError("a part of a key is missing")
    values = column.to_pylist()
    if form == ENCODED:
        raise StateCorruptionError("a part of a tuple cannot be an encoded key")
    expected = _PYTHON[form]
    if not all(type(value) is expected for value in values):
        raise StateCorruptionError(f"a column of the form {form} has other values")
    return values


_PYTHON: dict[str, Callable[..., Any]] = {
    "boolean": bool,
    "long": int,
    "double": float,
    "string": str,
    "bytes": bytes,
    "date": dt.date,
    "timestamp": dt.datetime,
}
