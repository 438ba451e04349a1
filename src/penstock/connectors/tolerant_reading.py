"""Reads what can be read of many messages, and says which those were."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from penstock.common.serialization import DeserializationError


def readable_columns(
    documents: Sequence[bytes], read: Callable[[list[bytes]], list[pa.Array]], schema: pa.Schema
) -> tuple[list[pa.Array], list[int]]:
    """The columns of all documents that `read` does not refuse, and their places.

    Good documents are read many at a time: a list with a bad one in it is halved until the bad one is alone.
    """
    parts: list[list[pa.Array]] = []
    kept: list[int] = []
    pending = [(0, len(documents))] if documents else []
    while pending:
        start, end = pending.pop()
        try:
            parts.append(read(list(documents[start:end])))
            kept += range(start, end)
        except DeserializationError:
            if end - start > 1:
                middle = (start + end) // 2
                pending += [(middle, end), (start, middle)]
    if not parts:
        return [pa.array([], field.type) for field in schema], []
    return [pa.concat_arrays(columns) for columns in zip(*parts, strict=True)], kept
