"""The JVM's standard error on its way to the terminal, but for one warning that no Java option turns off."""

from __future__ import annotations

import atexit
import os
import select
import threading
import time
from contextlib import suppress

_UNWANTED = b"WARNING: Using incubator modules"
_STANDARD_ERROR = 2
_LAST_WORDS_SECONDS = 1.0


class JvmStandardError:
    """A pipe whose write end is for the JVM; a thread hands on what comes out of it, as long as the JVM lives."""

    def __init__(self) -> None:
        self._read, self.write_end = os.pipe()
        self._passing = threading.Lock()
        """Held from reading something until it is written."""
        self.ended = threading.Event()
        """Set when the JVM has closed its end."""
        self._warned = False
        self._line = b""
        threading.Thread(target=self._pass_on, name="penstock-jvm-stderr", daemon=True).start()
        # The thread dies with the interpreter, and with it what it has not handed on.
        atexit.register(self.wait_for_last_words)

    def _pass_on(self) -> None:
        while True:
            self._has_something(None)
            with self._passing:
                some = os.read(self._read, 1 << 16)
                self._show(self._wanted(some))
            if not some:
                self.ended.set()
                return

    def _has_something(self, timeout_ms: int | None) -> bool:
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        return any(event & select.POLLIN for _, event in poll.poll(timeout_ms))

    def _wanted(self, some: bytes) -> bytes:
        """What is to be shown now: whole lines up to the warning and without it, then everything as it comes."""
        if self._warned:
            return some
        lines = (self._line + some).splitlines(keepends=True)
        self._line = lines.pop() if some and not lines[-1].endswith(b"\n") else b""
        kept = [line for line in lines if not line.startswith(_UNWANTED)]
        if len(kept) < len(lines):
            self._warned = True
            kept.append(self._line)
        return b"".join(kept)

    def _show(self, text: bytes) -> None:
        # A terminal that is gone must not stop the JVM, which would wait for us to read.
        with suppress(OSError):
            while text:
                text = text[os.write(_STANDARD_ERROR, text) :]

    def wait_for_last_words(self) -> None:
        """Returns when all that the JVM has written by now is shown, or nothing more moves."""
        end = time.monotonic() + _LAST_WORDS_SECONDS
        while self._has_something(0) and time.monotonic() < end:
            time.sleep(0.001)
        if self._passing.acquire(timeout=_LAST_WORDS_SECONDS):
            self._passing.release()
