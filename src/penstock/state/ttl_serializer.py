"""How values that expire become bytes: the time of their last use, then the value as it is stored without one.

    a value, an entry of a map    u64 time | the value
    a part of a list              u64 least time | u32 number of elements | i64 time of each | the elements

Times are milliseconds. The first is big-endian and moved by 2**63, so that bytes compare as times do; the others are
little-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np

from penstock.state.value_serializers import ValueSerializer

Used = tuple[int, Any]
"""The time of the last use of a value, and the value."""

TIME_BYTES = 8
_TIME = Struct(">Q")
_OFFSET = 1 << 63
_COUNT = Struct("<I")
_TIMES_AT = TIME_BYTES + _COUNT.size


def time_bytes(timestamp: int) -> bytes:
    """A time as it stands at the beginning of what is stored."""
    return _TIME.pack(timestamp + _OFFSET)


class UsedValueSerializer(ValueSerializer):
    """Bytes of pairs of a time and a value."""

    def __init__(self, values: ValueSerializer) -> None:
        self.values = values
        """The serializer of the values alone."""

    def dumps(self, value: Used) -> bytes:
        """The bytes of a pair."""
        return _TIME.pack(value[0] + _OFFSET) + self.values.dumps(value[1])

    def loads(self, data: bytes) -> Used:
        """The pair again."""
        return _TIME.unpack_from(data)[0] - _OFFSET, self.values.loads(data[TIME_BYTES:])

    def dumps_many(self, values: Sequence[Used]) -> bytes:
        """The bytes of many pairs."""
        times = np.array([timestamp for timestamp, _ in values], dtype="<i8")
        return b"".join(
            (
                time_bytes(int(times.min(initial=_OFFSET - 1))),
                _COUNT.pack(len(times)),
                times.tobytes(),
                self.values.dumps_many([value for _, value in values]),
            )
        )

    def loads_many(self, data: bytes) -> list[Used]:
        """Many pairs again."""
        (count,) = _COUNT.unpack_from(data, TIME_BYTES)
        times = np.frombuffer(data, dtype="<i8", count=count, offset=_TIMES_AT)
        return list(zip(times.tolist(), self.values.loads_many(data[_TIMES_AT + 8 * count :]), strict=True))
