"""An event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any


class EventLoopThread:
    """Runs an event loop until `stop`; `on_end` is called, in the loop's thread, when it ends for whatever reason."""

    def __init__(self, name: str, on_end: Callable[[], None]) -> None:
        self.loop = asyncio.new_event_loop()
        self._on_end = on_end
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, callback: Callable[..., Any], *arguments: Any) -> None:
        """Lets the loop call something soon."""
        self.loop.call_soon_threadsafe(callback, *arguments)

    def stop(self) -> None:
        """Ends the loop and cancels what runs on it; returns at once."""
        with contextlib.suppress(RuntimeError):  # the loop may be closed, or close at this moment
            self.loop.call_soon_threadsafe(self._stop)

    def join(self, seconds: float) -> None:
        """Waits for the end of the thread, but not for ever: user code may refuse to be cancelled."""
        self._thread.join(seconds)

    def _stop(self) -> None:
        if not self._is_ending:
            self.loop.stop()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self._is_ending = True
            self._on_end()
            self._cancel_tasks()
            self.loop.close()

    def _cancel_tasks(self) -> None:
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
