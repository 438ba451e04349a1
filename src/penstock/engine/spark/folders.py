"""Folders for files that Spark serves to executors from where they lie, for as long as the program runs."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path


def folder_until_exit(prefix: str) -> Path:
    """A new folder, which goes with the program."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
