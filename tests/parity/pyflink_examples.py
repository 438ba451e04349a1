"""PyFlink's own examples: where they are, what they print. Their text stays where it was installed."""

from __future__ import annotations

import hashlib
import os
import re
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

NOT_COMPARED = {
    "streaming_word_count": "reads random words from a table of the Table API, without end",
    "asyncio/remote_model_inference": "reads random comments from a table of the Table API, without end",
}
"""The examples of the DataStream API that print something else every time. Those of connectors need their systems."""

_NO_RECORDS = (
    *("Using Any for unsupported type", "No module named google.", "PYFLINK_CYTHON_ENABLED"),  # logged by PyFlink
    *("Printing result to stdout", "Executing word_count", "Use --input"),  # said by the examples about themselves
)
_SUBTASK = re.compile(r"^\d+> ")


def example_file(python: str, name: str) -> Path:
    """The file of an example in the environment of that interpreter."""
    command = [python, "-c", "import pyflink; print(pyflink.__path__[0])"]
    package = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return Path(package, "examples", "datastream", EXAMPLES[name].path)


def recorded_example(path: Path, command: list[str]) -> dict[str, Any]:
    """The fingerprint of an example's text, and what it prints."""
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "printed": printed_lines([*command, str(path)])}


def printed_lines(command: list[str], options: str = "") -> list[str]:
    """The records that a program prints, without the numbers of subtasks."""
    path = os.pathsep.join((str(Path(command[0]).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "PENSTOCK_OPTIONS": options}
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600, env=environment)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{run.stdout}\n{run.stderr}")
    return printed_records(run.stdout)


def printed_records(text: str) -> list[str]:
    """The lines of a program's output that are records."""
    return [_SUBTASK.sub("", line) for line in text.splitlines() if not line.startswith(_NO_RECORDS)]
