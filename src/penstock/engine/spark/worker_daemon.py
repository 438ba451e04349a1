"""What Spark forks its Python workers from: the installed PySpark instead of the archive that Spark puts before it.

Python keeps no compiled code of modules in an archive: every worker would compile those of PySpark anew, for a second
and more, before its first record. Both are the same code.

Nothing else is imported here: Arrow and pandas start threads, and no thread may run in a process that is forked.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from typing import Any

_ARCHIVE = re.compile(r"(pyspark|py4j-[^/\\]*-src)\.zip$")


def prefer_installed(path: list[str]) -> list[str]:
    """The path without Spark's archives."""
    return [entry for entry in path if not _ARCHIVE.search(entry)]


def without_last_words(worker: Callable[[Any, bool], int | str | None]) -> Callable[[Any, bool], int | str | None]:
    """PySpark's function that serves one task, for a Spark that may have ended the task and listens no more.

    Whatever ended it is known to Spark: a traceback that the last rows found no reader would hide it.
    """

    def serve(sock: Any, authenticated: bool) -> int | str | None:
        try:
            return worker(sock, authenticated)
        except (BrokenPipeError, ConnectionResetError):
            return 1

    return serve


def main() -> None:
    """Called by Spark, as `python -m`."""
    with_archives = sys.path[:]
    sys.path[:] = prefer_installed(with_archives)
    if importlib.util.find_spec("pyspark") is None or importlib.util.find_spec("py4j") is None:
        sys.path[:] = with_archives
    daemon: Any = importlib.import_module("pyspark.daemon")
    daemon.worker = without_last_words(daemon.worker)
    daemon.manager()


if __name__ == "__main__":
    main()
