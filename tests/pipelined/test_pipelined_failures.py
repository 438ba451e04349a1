"""What fails in pipelined mode on Spark: what a terminal shows of it, and what is mended without a word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

configuration = Configuration()
configuration.set_string("execution.latency", "pipelined")
env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
env.from_collection([4, 2, 0]).key_by(lambda n: n).map(lambda n: print(8 // n) or n).add_sink(print)
env.execute("divisions")
"""


def test_a_function_that_fails_shows_no_stack_trace_of_spark() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stderr
    assert "\tat org.apache.spark" not in done.stderr
    assert "BrokenPipeError" not in done.stderr
    assert "pyspark/daemon.py" not in done.stderr


CLEARED_AWAY = """
import shutil
from pathlib import Path
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

def clear_away_once(number):
    mark = Path("cleared-away")
    if not mark.exists():
        mark.touch()
        shutil.rmtree("checkpoint/live")
    return number

configuration = Configuration()
configuration.set_string("execution.latency", "pipelined")
configuration.set_string("execution.checkpointing.dir", "checkpoint")
configuration.set_string("restart-strategy.type", "none")
env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
numbers = env.from_collection([4, 2, 0]).key_by(lambda n: n).map(clear_away_once)
with numbers.execute_and_collect() as results:
    print(sorted(results))
"""


def test_a_driver_whose_word_has_gone_with_no_other_driver_there_runs_the_epoch_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLEARED_AWAY], check=False, capture_output=True, text=True, timeout=240, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[0, 2, 4]"
    assert (tmp_path / "cleared-away").exists()
