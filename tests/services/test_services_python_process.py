"""Processes with Penstock imported already are like any others."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from services.python_process import PythonProcess, run_python

SCRIPT = """
import os, sys
from pathlib import Path
print(__name__, __file__ == sys.argv[0], sys.argv[1:], os.environ["ASKED"], Path.cwd().name, "pyarrow" in sys.modules)
print("a complaint", file=sys.stderr)
sys.exit(3)
"""


def test_a_script_has_its_arguments_environment_directory_and_exit_code(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run_python(tmp_path / "script.py", "a", "b", more_environment={"ASKED": "yes"}, directory=tmp_path)
    assert done.returncode == 3
    assert done.stdout == f"__main__ True ['a', 'b'] yes {tmp_path.name} True\n"
    assert done.stderr == "a complaint\n"
    assert "ASKED" not in os.environ


@pytest.mark.parametrize(
    ("program", "code", "told"),
    [
        ("raise ValueError('broken')", 1, "ValueError: broken"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
        ("from penstock.common import fail_points; fail_points.reach('here')", -signal.SIGKILL, ""),
        ("import threading; threading.Thread(target=print, args=('late',)).start()", 0, ""),
    ],
    ids=["error", "killed", "fail point", "thread"],
)
def test_how_it_ends(program: str, code: int, told: str) -> None:
    done = run_python("-c", program, more_environment={"PENSTOCK_FAIL_POINTS": "here@1=kill"})
    assert done.returncode == code, done.stderr
    assert told in done.stderr


def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_python("-c", "import threading; threading.Event().wait()", timeout=0.5)
    log = tmp_path / "log"
    process = PythonProcess("-c", "import threading; threading.Event().wait()", output=log, errors=log)
    assert process.wait(0.1) is None
    assert process.end() == -signal.SIGKILL


def test_two_processes_draw_other_random_numbers() -> None:
    draw = "import random, uuid; print(random.random(), uuid.uuid4())"
    assert len({run_python("-c", draw).stdout for _ in range(3)}) == 3
