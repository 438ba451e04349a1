"""A job of pipelined mode in a process of its own, with the JVM and the workers that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from faults.processes import KILLED, kill_group
from penstock.common.fail_points import ENVIRONMENT_VARIABLE
from services.modules_of_tests import python_path

SECONDS = 240


class JobProcess:
    """One start of a script; at the end of the `with` block nothing is left of it."""

    def __init__(self, script: str, *arguments: str | Path, errors: Path, fail_points: str = "") -> None:
        self._errors = errors
        with errors.open("w") as file:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)],
                env={**os.environ, "PYTHONPATH": python_path(), ENVIRONMENT_VARIABLE: fail_points},
                stdin=subprocess.PIPE,
                stderr=file,
                text=True,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        kill_group(self._process)
        self._process.communicate()

    def wait_until(self, condition: Callable[[], bool], what: str, *, between: float = 0.5) -> None:
        """Asks again and again, with some time between: the job needs the cores."""
        deadline = time.monotonic() + SECONDS
        while not condition():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(between)
            assert self._process.poll() is None, self._errors.read_text()
            assert time.monotonic() < deadline, f"{what} does not come: {self._errors.read_text()}"

    def tell(self, line: str) -> None:
        """Says a line to the script."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def is_killed(self) -> bool:
        """Waits for the end of the driver; whether it was by SIGKILL."""
        return self._process.wait(SECONDS) == KILLED
