"""Checks of what expressions are told. Every refusal names the user's line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from penstock.common.call_site import capture_call_site
from penstock.common.errors import ArgumentError
from penstock.common.kernels import pc
from penstock.common.type_inference import infer_type
from penstock.common.typeinfo import TypeInformation


def refused(message: str) -> ArgumentError:
    """The error of an expression that cannot be written like this."""
    return ArgumentError(f"{message}\n  at {capture_call_site()}")


def check_text(method: str, value: object, *, may_be_empty: bool = True) -> str:
    """Accepts a text."""
    if not isinstance(value, str) or not (value or may_be_empty):
        expected = "a text" if may_be_empty else "a text that is not empty"
        raise refused(f"{method} takes {expected}, got {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refused(f"{method} takes a text of whole characters, and {value!r} has half of one") from None
    return value


def check_integer(method: str, what: str, value: object, *, least: int | None = None) -> int:
    """Accepts an integer."""
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        raise refused(f"{method} takes {what}, got {value!r}")
    return value


def check_field(value: object) -> str | int:
    """Accepts what names a field."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise refused(f"a field is named by a text or by its place, got {value!r}")
    return value


def check_values(method: str, values: object) -> list[Any]:
    """Accepts a collection of values that are not None."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise refused(f"{method} takes a list of values, got {values!r}")
    listed = list(values)
    if any(value is None for value in listed):
        raise refused(f"{method} takes values, and None is none; write `.is_null()`")
    return listed


def check_pattern(method: str, pattern: object) -> str:
    """Accepts a regular expression."""
    text = check_text(method, pattern)
    try:
        pc.match_substring_regex(pa.array([""]), text)
    except pa.ArrowInvalid as error:
        raise refused(f"{method}: {pattern!r} cannot be used: {error}") from None
    return text


def check_type(method: str, target: object) -> TypeInformation:
    """Accepts a type that has columns."""
    expected = f"{method} takes a type such as Types.INT() or int"
    if not isinstance(target, TypeInformation | type):
        raise refused(f"{expected}, got {target!r}")
    resolved = infer_type(target)
    if resolved.is_pickled:
        raise refused(f"{expected}; {target!r} has no columns")
    return resolved
