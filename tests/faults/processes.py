"""Runs the rolling job in a process of its own, to be killed for real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.common.fail_points import ENVIRONMENT_VARIABLE
from services.python_process import run_python

SCRIPT = Path(__file__).with_name("rolling_job.py")
TIMEOUT_SECONDS = 240
KILLED = -signal.SIGKILL


def run_job(
    directory: Path,
    *,
    options: Mapping[str, str],
    fail_points: str = "",
    noise: bool = False,
    arguments: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Runs the job until it ends or dies; `fail_points` says where it dies, `arguments` are more for the script."""
    words = [word for key, value in options.items() for word in ("--option", f"{key}={value}")]
    arguments = [str(SCRIPT), str(directory), *(["--noise"] if noise else []), *words, *arguments]
    if options.get("execution.engine") == "local":
        return run_python(*arguments, more_environment={ENVIRONMENT_VARIABLE: fail_points}, timeout=TIMEOUT_SECONDS)
    process = _start_with_jvm(arguments, fail_points)
    try:
        output, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    finally:
        kill_group(process)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def _start_with_jvm(arguments: Sequence[str], fail_points: str) -> subprocess.Popen[str]:
    """Starts the job in a process group of its own, so that its JVM and workers can be ended with it."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, ENVIRONMENT_VARIABLE: fail_points},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kill_group(process: subprocess.Popen[str]) -> None:
    """Ends what a killed driver leaves behind: its JVM and Python workers."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
