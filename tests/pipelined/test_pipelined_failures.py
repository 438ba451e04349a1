"""What a terminal shows of a function that fails in pipelined mode on Spark."""

from __future__ import annotations

import subprocess
import sys

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
