"""A record of one of two streams: what is in the windows of a join."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any


class TaggedUnion(tuple[int, Any]):
    """A record, and which stream it is of. Triggers, evictors and gap extractors of joins get it.

    >>> TaggedUnion.one("order")
    TaggedUnion(one='order')
    >>> TaggedUnion.two("payment").get_two()
    'payment'
    """

    __slots__ = ()

    @classmethod
    def one(cls, value: Any) -> TaggedUnion:
        """A record of the first stream."""
        return cls((0, value))

    @classmethod
    def two(cls, value: Any) -> TaggedUnion:
        """A record of the second stream."""
        return cls((1, value))

    def is_one(self) -> bool:
        """Whether it is of the first stream."""
        return not self[0]

    def is_two(self) -> bool:
        """Whether it is of the second stream."""
        return bool(self[0])

    def get_one(self) -> Any:
        """The record of the first stream; None where it is of the second."""
        return None if self[0] else self[1]

    def get_two(self) -> Any:
        """The record of the second stream; None where it is of the first."""
        return self[1] if self[0] else None

    def __repr__(self) -> str:
        return f"TaggedUnion({'two' if self[0] else 'one'}={self[1]!r})"


def tagged(stream: int, values: Iterable[Any]) -> list[TaggedUnion]:
    """Records of the first stream (0) or of the second (1)."""
    return list(map(TaggedUnion, zip(repeat(stream), values)))


def parted(unions: Iterable[TaggedUnion]) -> tuple[list[Any], list[Any]]:
    """The records of each stream."""
    first: list[Any] = []
    second: list[Any] = []
    for stream, value in unions:
        (second if stream else first).append(value)
    return first, second
