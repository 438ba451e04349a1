"""Python programs in processes of their own, which have Penstock imported already.

A new interpreter needs a second and more for Penstock, Arrow and pandas. These processes are forked from one that has
imported them and done nothing else. Each has its own memory, files and death, like any other process; what they have
in common is the seed of hashes. A test that is about that, or about imports, starts an interpreter.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from penstock.common import fail_points

_IMPORTED = ["penstock.datastream", "penstock.testing", "penstock.cli.main", "pandas", "confluent_kafka", "psycopg"]
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(_IMPORTED)


class PythonProcess:
    """`python ARGUMENTS`, where the first is a script, or `-c` with the text of a program after it."""

    def __init__(
        self,
        *arguments: str | Path,
        more_environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        output: Path,
        errors: Path,
    ) -> None:
        words = [str(argument) for argument in arguments]
        environment = {**os.environ, **(more_environment or {})}
        places = (str(directory or Path.cwd()), str(output), str(errors))
        self._process = _context.Process(target=_run, args=(words, environment, *places))
        self._process.start()

    def wait(self, seconds: float) -> int | None:
        """The exit code, negative for a signal; None where the process still runs after so long."""
        self._process.join(seconds)
        return self._process.exitcode

    def end(self) -> int | None:
        """SIGKILL, where it still runs; the exit code."""
        if self._process.exitcode is None and self._process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        return self._process.exitcode


def run_python(
    *arguments: str | Path,
    more_environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    timeout: float = 240,
) -> subprocess.CompletedProcess[str]:
    """Runs a program until it ends or dies."""
    with tempfile.TemporaryDirectory() as place:
        output, errors = Path(place, "output"), Path(place, "errors")
        process = PythonProcess(
            *arguments, more_environment=more_environment, directory=directory, output=output, errors=errors
        )
        try:
            if process.wait(timeout) is None:
                raise subprocess.TimeoutExpired(arguments, timeout, output.read_text(), errors.read_text())
        finally:
            code = process.end()
        return subprocess.CompletedProcess(arguments, code or 0, output.read_text(), errors.read_text())


def _run(arguments: Sequence[str], environment: Mapping[str, str], directory: str, output: str, errors: str) -> None:
    os.setsid()
    for descriptor, path in ((sys.stdout.fileno(), output), (sys.stderr.fileno(), errors)):
        with Path(path).open("ab") as file:
            os.dup2(file.fileno(), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    # Importing the module does that in a new interpreter.
    fail_points.arm(fail_points._hook_of(os.environ.get(fail_points.ENVIRONMENT_VARIABLE, "")))
    sys.modules["__main__"] = main = ModuleType("__main__")
    if arguments[0] == "-c":
        name, text, sys.argv[:] = "<string>", arguments[1], ["-c", *arguments[2:]]
    else:
        name, text, sys.argv[:] = arguments[0], Path(arguments[0]).read_text(encoding="utf-8"), list(arguments)
        main.__file__ = name
        sys.path.insert(0, str(Path(name).resolve().parent))
    exec(compile(text, name, "exec", dont_inherit=True), main.__dict__)
