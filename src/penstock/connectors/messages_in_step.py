"""Reads many binary messages at once.

The messages of a batch lie one after the other in memory, and all are read in step: first the first field of each, then
the second. What is not as it should be ends the attempt, and somebody else finds out which message it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Numbers = np.ndarray[Any, Any]
"""One for each message."""

_BYTES_OF_VARINT = 10
_PADDING = 32
_MAX_BYTES = (1 << 31) - 1


class IrregularError(ValueError):
    """Some message is not a record of the schema."""


class MessagesInStep:
    """Where each of some messages is being read."""

    def __init__(self, data: Numbers, positions: Numbers, ends: Numbers) -> None:
        self.data = data
        self.positions = positions
        self.ends = ends

    @staticmethod
    def of(messages: Sequence[bytes], start: int = 0) -> MessagesInStep:
        """Messages that begin with as many bytes of something else."""
        ends = np.cumsum(np.fromiter(map(len, messages), np.int64, len(messages)))
        # Reading a little too far is noticed afterwards.
        data = np.frombuffer(b"".join([*messages, bytes(_PADDING)]), np.uint8)
        positions = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) + start
        return MessagesInStep(data, positions, ends)

    def __len__(self) -> int:
        return len(self.positions)

    def advance(self, count: Numbers | int) -> None:
        """Goes on behind what was read."""
        self.positions = self.positions + count
        if (self.positions > self.ends).any():
            raise IrregularError

    def byte(self) -> Numbers:
        """The next byte of each."""
        found = self.data[self.positions]
        self.advance(1)
        return found

    def varint(self) -> Numbers:
        """The next number of each, seven bits a byte, the least first."""
        positions = self.positions.copy()
        found = self.data[positions]
        value = (found & 0x7F).astype(np.uint64)
        positions += 1
        going_on = np.flatnonzero(found & 0x80)
        for place in range(1, _BYTES_OF_VARINT):
            if not len(going_on):
                break
            found = self.data[positions[going_on]]
            value[going_on] |= (found & 0x7F).astype(np.uint64) << np.uint64(7 * place)
            positions[going_on] += 1
            going_on = going_on[(found & 0x80) != 0]
        if len(going_on) or (positions > self.ends).any():
            raise IrregularError
        self.positions = positions
        return value

    def signed(self) -> Numbers:
        """The next number of each, whose last bit is the sign."""
        return zigzag(self.varint())

    def fixed(self, size: int) -> Numbers:
        """The next bytes of each, as rows."""
        starts = self.positions
        self.advance(size)
        return self.data[starts[:, None] + np.arange(size)]

    def texts(self, sizes: Numbers) -> pa.Array:
        """The next bytes of each, as many as it says."""
        starts = self.skip(sizes)
        return self.texts_at(starts, sizes)

    def skip(self, sizes: Numbers) -> Numbers:
        """Goes on behind the next bytes of each; returns where they begin."""
        if (sizes < 0).any():
            raise IrregularError
        starts = self.positions
        self.advance(sizes)
        return starts

    def texts_at(self, starts: Numbers, sizes: Numbers) -> pa.Array:
        """Bytes from anywhere, as a column."""
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        if offsets[-1] > _MAX_BYTES:
            raise IrregularError
        content = self.data[np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])]
        buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(content)]
        return pa.Array.from_buffers(pa.binary(), len(sizes), buffers)

    def at(self, places: Numbers) -> MessagesInStep:
        """Some of them, read on their own."""
        return MessagesInStep(self.data, self.positions[places], self.ends[places])


def zigzag(value: Numbers) -> Numbers:
    """Numbers whose last bit is the sign."""
    return (value >> np.uint64(1)).astype(np.int64) ^ -(value & np.uint64(1)).astype(np.int64)
