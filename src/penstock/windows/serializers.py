"""The bytes of windows: part of the keys of state and timers, so they never change."""

from __future__ import annotations

from abc import abstractmethod
from io import BytesIO
from struct import Struct
from typing import TypeVar

from penstock.common.serializer import TypeSerializer
from penstock.windows.window import CountWindow, GlobalWindow, TimeWindow

W = TypeVar("W")

_TWO_LONGS = Struct(">qq")
_LONG = Struct(">q")


class WindowSerializer(TypeSerializer[W]):
    """Windows that always take the same number of bytes."""

    length: int

    @abstractmethod
    def to_bytes(self, window: W) -> bytes:
        """The bytes of a window."""

    @abstractmethod
    def from_bytes(self, data: bytes) -> W:
        """The window again."""

    def serialize(self, element: W, stream: BytesIO) -> None:
        """Writes a window."""
        stream.write(self.to_bytes(element))

    def deserialize(self, stream: BytesIO) -> W:
        """Reads a window."""
        return self.from_bytes(stream.read(self.length))


class TimeWindowSerializer(WindowSerializer[TimeWindow]):
    """Start and end, each as a big-endian 64-bit number."""

    length = _TWO_LONGS.size

    def to_bytes(self, window: TimeWindow) -> bytes:
        """The bytes of a window."""
        return _TWO_LONGS.pack(window.start, window.end)

    def from_bytes(self, data: bytes) -> TimeWindow:
        """The window again."""
        return TimeWindow(*_TWO_LONGS.unpack(data))


class CountWindowSerializer(WindowSerializer[CountWindow]):
    """The id as a big-endian 64-bit number."""

    length = _LONG.size

    def to_bytes(self, window: CountWindow) -> bytes:
        """The bytes of a window."""
        return _LONG.pack(window.id)

    def from_bytes(self, data: bytes) -> CountWindow:
        """The window again."""
        return CountWindow(*_LONG.unpack(data))


class GlobalWindowSerializer(WindowSerializer[GlobalWindow]):
    """No bytes: there is only one such window."""

    length = 0

    def to_bytes(self, window: GlobalWindow) -> bytes:
        """No bytes."""
        return b""

    def from_bytes(self, data: bytes) -> GlobalWindow:
        """The window."""
        return GlobalWindow.get()
