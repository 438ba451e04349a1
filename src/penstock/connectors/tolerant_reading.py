"""Reads what can be read of many messages, and says which those were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.serialization import DeserializationError

T = TypeVar("T")


class BrokenPlace(NamedTuple):
    """The place of a message that cannot be read, and why."""

    place: int
    reason: str


def readable_parts(count: int, read: Callable[[int, int], T]) -> tuple[list[tuple[int, int, T]], list[BrokenPlace]]:
    """What `read(start, end)` makes of all messages that it does not refuse, in parts, and those that it refuses.

    `read` raises `DeserializationError` with the place of the first message that is broken, counted from `start`. Good
    messages are read many at a time: what is behind a bad one is halved, so that many bad ones cost little more.
    """
    parts: list[tuple[int, int, T]] = []
    broken: list[BrokenPlace] = []
    pending = [(0, count)] if count else []
    while pending:
        start, end = pending.pop()
        try:
            parts.append((start, end, read(start, end)))
        except DeserializationError as problem:
            bad = start + problem.index
            broken.append(BrokenPlace(bad, problem.reason))
            middle = (bad + 1 + end) // 2
            pending += [part for part in ((middle, end), (bad + 1, middle), (start, bad)) if part[0] < part[1]]
    return sorted(parts, key=lambda part: part[0]), sorted(broken)


def tolerant_batches(
    to_batch: Callable[[Sequence[T], Sequence[int | None]], Batch],
    messages: Sequence[T],
    timestamps: Sequence[int | None],
) -> tuple[list[Batch], list[BrokenPlace]]:
    """The records of all messages that `to_batch` (of a deserialization schema) does not refuse, and the others."""
    parts, broken = readable_parts(
        len(messages), lambda start, end: to_batch(messages[start:end], timestamps[start:end])
    )
    return [batch for _, _, batch in parts if len(batch)], broken


def readable_columns(
    documents: Sequence[bytes], read: Callable[[list[bytes]], list[pa.Array]], schema: pa.Schema
) -> tuple[list[pa.Array], list[int]]:
    """The columns of all documents that `read` does not refuse, and their places."""
    parts, _ = readable_parts(len(documents), lambda start, end: read(list(documents[start:end])))
    kept = [place for start, end, _ in parts for place in range(start, end)]
    if not parts:
        return [pa.array([], field.type) for field in schema], []
    return [pa.concat_arrays(columns) for columns in zip(*(part for _, _, part in parts), strict=True)], kept
