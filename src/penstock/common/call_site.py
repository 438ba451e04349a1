"""The user's line: which line of the program asked for an operator."""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass
from pathlib import Path

_PACKAGE_DIRECTORY = f"{Path(__file__).resolve().parent.parent}{os.sep}"


@dataclass(frozen=True)
class CallSite:
    """A place in the user's program."""

    file: str
    line: int
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code}" if self.code else f"{self.file}:{self.line}"


UNKNOWN_CALL_SITE = CallSite("<unknown>", 0, "")


def is_own_file(filename: str) -> bool:
    """Whether code of this file is Penstock's, and not the user's."""
    return filename.startswith(_PACKAGE_DIRECTORY)


def capture_call_site() -> CallSite:
    """The innermost frame outside Penstock's own package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_own_file(filename):
            code = linecache.getline(filename, frame.f_lineno).strip()
            return CallSite(filename, frame.f_lineno, code)
        frame = frame.f_back
    return UNKNOWN_CALL_SITE
