"""A real Ctrl-C on Spark: SIGINT goes to the driver and to its JVM; Spark's workers have a group of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from faults.processes import TIMEOUT_SECONDS, kill_group

pytestmark = [pytest.mark.spark, pytest.mark.faults]

# The task of the first epoch says that it is at work, and goes on when the driver has been interrupted.
ENDLESS = """
    import sys, time
    from pathlib import Path
    from penstock.common import Types
    from penstock.datastream import StreamExecutionEnvironment
    from penstock.datastream.connectors.datagen import DataGeneratorSource

    interrupted = Path(sys.argv[1])

    def held_up(number):
        if number == 0:
            print("at work", file=sys.stderr, flush=True)
            while not interrupted.exists():
                time.sleep(0.01)
        return number

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    numbers = DataGeneratorSource(lambda n: n, rate_per_second=50, type_info=Types.LONG())
    env.from_source(numbers, source_name="numbers").map(held_up, Types.LONG()).print()
    client = env.execute_async("endless")
    try:
        client.get_job_execution_result().result()
    except KeyboardInterrupt:
        client.cancel()
        interrupted.touch()
        raise
"""


def interrupted(directory: Path, at: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the program in a process group of its own, which gets SIGINT when one of its processes has said `at`.

    Returns when all of them have ended, or closed their output at least.
    """
    program, checkpoint = directory / "endless.py", directory / "checkpoint"
    program.write_text(dedent(ENDLESS))
    options = ["--master", "local[1]", "--checkpoint", str(checkpoint), "--no-progress"]
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock.cli", "run", *options, str(program), str(directory / "interrupted")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PENSTOCK_ENGINE": "spark", **environment},
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        assert f"{at}\n" in iter(process.stderr.readline, "")
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    finally:
        kill_group(process)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def test_ctrl_c_finishes_the_epoch_under_way_and_publishes_it(tmp_path: Path) -> None:
    ended = interrupted(tmp_path, at="at work")
    assert ended.stdout.startswith("0\n"), ended.stderr
    assert "stopped 'endless'" in ended.stderr
    assert "is run again" not in ended.stderr


def test_ctrl_c_while_the_jvm_starts_leaves_none_behind(tmp_path: Path) -> None:
    """One that is left behind would keep its standard output, and the test would wait for its end in vain."""
    (tmp_path / "spark-env.sh").write_text("echo starting >&2\n")
    ended = interrupted(tmp_path, at="starting", SPARK_CONF_DIR=str(tmp_path))
    assert ended.stdout == ""
