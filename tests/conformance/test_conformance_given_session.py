"""A job on a Spark session that the program has made itself, with nothing but a master."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
import json, signal
from pyspark.sql import SparkSession
from penstock.common import Configuration, Types
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value, ctx):
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        yield value % 3, seen

def looks():
    return session.conf.getAll, dict(session.sparkContext.getConf().getAll()), signal.getsignal(signal.SIGINT)

session = SparkSession.builder.master("local[2]").getOrCreate()
before = looks()
configuration = Configuration().set_string("execution.runtime-mode", "STREAMING")
configuration.set_string("execution.epoch.max-records", "10")
env = StreamExecutionEnvironment.get_execution_environment(configuration, spark_session=session).set_parallelism(2)
numbers = env.from_sequence(1, 30).key_by(lambda n: n % 3, Types.LONG())
counts = list(numbers.process(Count(), Types.TUPLE([Types.LONG(), Types.LONG()])).execute_and_collect())
print(json.dumps({
    "counts": counts,
    "is_unchanged": looks() == before,
    "rows": session.range(100).count(),
}))
"""


def test_a_keyed_job_runs_on_it_and_leaves_it_as_it_was() -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout.splitlines()[-1])
    assert sorted(told.pop("counts")) == [[key, count] for key in range(3) for count in range(1, 11)]
    assert told == {"is_unchanged": True, "rows": 100}
