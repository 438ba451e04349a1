"""PyFlink's own examples: where they are, what they print. Their text stays where it was installed."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PYTHON_WITH_PYFLINK = "PENSTOCK_PYFLINK_PYTHON"
"""The environment variable that names the interpreter of an environment with PyFlink."""


@dataclass(frozen=True)
class Example:
    """One of the examples that end."""

    path: str
    order_varies: bool
    """Whether it runs in several subtasks, or key by key: then the order of the lines is no part of the result."""


EXAMPLES = {
    "basic_operations": Example("basic_operations.py", order_varies=False),
    "process_json_data": Example("process_json_data.py", order_varies=True),
    "state_access": Example("state_access.py", order_varies=True),
    "event_time_timer": Example("event_time_timer.py", order_varies=True),
    "word_count": Example("word_count.py", order_varies=True),
    "session_with_dynamic_gap_window": Example("windowing/session_with_dynamic_gap_window.py", order_varies=False),
    "session_with_gap_window": Example("windowing/session_with_gap_window.py", order_varies=False),
    "sliding_time_window": Example("windowing/sliding_time_window.py", order_varies=False),
    "tumbling_count_window": Example("windowing/tumbling_count_window.py", order_varies=False),
    "tumbling_time_window": Example("windowing/tumbling_time_window.py", order_varies=False),
}

ENDLESS = {
    "streaming_word_count": "streaming_word_count.py",
    "remote_model_inference": "asyncio/remote_model_inference.py",
}
"""They make random records for ever: what can be compared is what holds for the first ones."""

_NO_RECORDS = (
    *("Using Any for unsupported type", "No module named google.", "PYFLINK_CYTHON_ENABLED"),  # logged by PyFlink
    *("Printing result to stdout", "Executing word_count", "Use --input"),  # said by the examples about themselves
)
_SUBTASK = re.compile(r"^\d+> ")


def example_file(python: str, name: str) -> Path:
    """The file of an example in the environment of that interpreter."""
    command = [python, "-c", "import pyflink; print(pyflink.__path__[0])"]
    package = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    path = ENDLESS.get(name) or EXAMPLES[name].path
    return Path(package, "examples", "datastream", path)


def recorded_example(path: Path, command: list[str]) -> dict[str, Any]:
    """The fingerprint of an example's text, and what it prints."""
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "printed": printed_lines([*command, str(path)])}


def first_lines(command: list[str], count: int, options: str = "") -> list[str]:
    """The first records that a program without end prints; it is killed then."""
    records: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=_environment(command, options), start_new_session=True
    ) as run:
        assert run.stdout is not None
        try:
            while len(records) < count and (line := run.stdout.readline()):
                records += printed_records(line)
        finally:
            os.killpg(run.pid, signal.SIGKILL)
    return records


def _environment(command: list[str], options: str) -> dict[str, str]:
    path = os.pathsep.join((str(Path(command[0]).parent), os.environ["PATH"]))
    return {**os.environ, "PATH": path, "PENSTOCK_OPTIONS": options}


def printed_lines(command: list[str], options: str = "") -> list[str]:
    """The records that a program prints, without the numbers of subtasks."""
    environment = _environment(command, options)
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600, env=environment)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{run.stdout}\n{run.stderr}")
    return printed_records(run.stdout)


def printed_records(text: str) -> list[str]:
    """The lines of a program's output that are records."""
    return [_SUBTASK.sub("", line) for line in text.splitlines() if not line.startswith(_NO_RECORDS)]
