"""Records of no declared type as bytes: pickled together, and one by one only to find the one that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.errors import TypeMismatchError


def pickled_records(values: list[Any], dumps: Callable[..., bytes]) -> bytes:
    """All of them in one pickle; `TypeMismatchError` has the place of the first that cannot be pickled."""
    try:
        return dumps(values, protocol=5)
    except Exception:
        for index, value in enumerate(values):
            try:
                dumps(value, protocol=5)
            except Exception as problem:
                raise TypeMismatchError(
                    f"a record of class {type(value).__qualname__} cannot be pickled ({problem}), so it cannot travel; "
                    "return plain data from the function that made it",
                    index=index,
                ) from None
        raise
