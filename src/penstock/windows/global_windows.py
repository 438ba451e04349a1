"""One window for everything."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from penstock.common.serializer import TypeSerializer
from penstock.windows.assigner import WindowAssigner
from penstock.windows.record_triggers import EndOfStreamTrigger, NeverTrigger
from penstock.windows.serializers import GlobalWindowSerializer
from penstock.windows.trigger import Trigger
from penstock.windows.window import GlobalWindow

_WINDOWS = (GlobalWindow.get(),)


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """Puts all records of a key into one window, which only a trigger can fire."""

    def __init__(self, default_trigger: Trigger[Any, Any] | None = None) -> None:
        self._default_trigger = default_trigger or NeverTrigger()

    @staticmethod
    def create() -> GlobalWindows:
        """Never fires, unless the program names a trigger."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """Fires once, when the input has ended."""
        return GlobalWindows(EndOfStreamTrigger())

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        """The one window."""
        return _WINDOWS

    def get_default_trigger(self, env: Any) -> Trigger[Any, GlobalWindow]:
        """Never, or at the end of the input."""
        return self._default_trigger

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """The bytes of the window."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """False."""
        return False

    def __repr__(self) -> str:
        return f"GlobalWindows(trigger={type(self._default_trigger).__name__})"
