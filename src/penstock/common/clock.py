"""Processing time: what the driver of a job reads and waits by."""

from __future__ import annotations

import threading
import time


class Clock:
    """The clock of this machine. Tests put another in its place."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01T00:00Z."""
        return int(time.time() * 1000)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Waits so long, or until the event is set; returns whether it is."""
        return event.wait(seconds)
