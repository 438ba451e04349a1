"""Windows with what the operator needs to know of them, computed once."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from penstock.common.serializer import TypeSerializer
from penstock.common.watermark_generator import MAX_TIMESTAMP
from penstock.state.namespaced_keys import namespace_suffix
from penstock.windows.serializers import WindowSerializer

_MOST = 1 << 16


class KnownWindow:
    """A window, its bytes and its times."""

    __slots__ = ("cleanup_time", "max_timestamp", "namespace", "suffix", "window")

    def __init__(self, window: Any, namespace: bytes, lateness: int) -> None:
        self.window = window
        self.namespace = namespace
        self.suffix = namespace_suffix(namespace)
        """What makes an encoded key one of the key and the window."""
        self.max_timestamp: int = window.max_timestamp()
        self.cleanup_time = min(self.max_timestamp + lateness, MAX_TIMESTAMP)
        """When the window goes away; never, at the end of time."""

    def __repr__(self) -> str:
        return repr(self.window)


class KnownWindows:
    """Finds known windows by the window and by its bytes."""

    def __init__(self, serializer: TypeSerializer[Any], lateness: int) -> None:
        self._lateness = lateness
        self._by_namespace: dict[bytes, KnownWindow] = {}
        if isinstance(serializer, WindowSerializer):
            self._to_bytes, self._from_bytes = serializer.to_bytes, serializer.from_bytes
        else:
            streams = _Streams(serializer)
            self._to_bytes, self._from_bytes = streams.to_bytes, streams.from_bytes

    def of(self, window: Any) -> KnownWindow:
        """A window that an assigner has made."""
        namespace = self._to_bytes(window)
        return self._by_namespace.get(namespace) or self._learn(namespace, window)

    def at(self, namespace: bytes) -> KnownWindow:
        """A window that state or a timer names."""
        return self._by_namespace.get(namespace) or self._learn(namespace, self._from_bytes(namespace))

    def _learn(self, namespace: bytes, window: Any) -> KnownWindow:
        if len(self._by_namespace) >= _MOST:
            self._by_namespace.clear()
        known = self._by_namespace[namespace] = KnownWindow(window, namespace, self._lateness)
        return known


class _Streams:
    """Bytes through a serializer of the program's own."""

    def __init__(self, serializer: TypeSerializer[Any]) -> None:
        self._serializer = serializer

    def to_bytes(self, window: Any) -> bytes:
        stream = BytesIO()
        self._serializer.serialize(window, stream)
        return stream.getvalue()

    def from_bytes(self, data: bytes) -> Any:
        return self._serializer.deserialize(BytesIO(data))
