"""A lost epoch on Spark: the Python workers that did its work live on, and are used again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.common import Configuration, JobExecutionException, fail_points
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.engine.epochs.stage_executor import ExecutionFailedError
from penstock.testing.memory_sink import MemorySink

pytestmark = pytest.mark.spark

PER_EPOCH = 2
RECORDS = 20


def test_objects_that_a_lost_epoch_left_in_workers_are_not_used_again():
    # Defined here, so that it travels to workers by its code: they do not know this module.
    class CountsOnSelf(KeyedProcessFunction):
        """Keeps a count where it must not be kept, beside the one in state."""

        def open(self, runtime_context):
            self.calls = 0
            self.count = runtime_context.get_state(ValueStateDescriptor("count"))

        def process_element(self, value, ctx):
            self.calls += 1
            self.count.update((self.count.value() or 0) + 1)
            yield os.getpid(), self.calls, self.count.value()

    actions = 0

    def lose_each_epoch_once_after_its_work(name: str) -> None:
        nonlocal actions
        actions += name == "action.after"
        if name == "action.after" and actions % 2:
            raise ExecutionFailedError("an executor died")

    configuration = Configuration()
    configuration.set_string("execution.engine", "spark").set_string("execution.epoch.max-records", str(PER_EPOCH))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    counted = env.from_collection([1] * RECORDS).key_by(lambda v: v).process(CountsOnSelf())
    fail_points.arm(lose_each_epoch_once_after_its_work)
    try:
        with counted.execute_and_collect() as results:
            rows = list(results)
    finally:
        fail_points.arm(None)
    assert [count for _, _, count in rows] == list(range(1, RECORDS + 1))
    assert [calls for _, calls, _ in rows] == list(range(1, PER_EPOCH + 1)) * (RECORDS // PER_EPOCH)
    # Which of them gets which epoch is chance.
    assert len({worker for worker, _, _ in rows}) < RECORDS // PER_EPOCH, "workers are meant to be used again"


def test_a_job_that_is_started_again_runs_its_new_program_and_not_what_the_old_one_has_left(tmp_path: Path) -> None:
    class Marked(KeyedProcessFunction):
        def __init__(self, mark):
            self.mark = mark
            self.calls = 0

        def process_element(self, value, ctx):
            self.calls += 1
            yield self.mark, self.calls

    def start(mark):
        configuration = Configuration()
        for key, value in {
            "execution.engine": "spark",
            "execution.epoch.max-records": str(PER_EPOCH),
            "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
            "execution.runtime-mode": "STREAMING",
        }.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
        sink = MemorySink()
        stream = env.from_collection([1] * RECORDS).uid("ones").key_by(lambda v: v)
        stream.process(Marked(mark)).uid("marked").sink_to(sink).uid("sink")
        env.execute()
        return sink.records

    def fail_after_the_work(name: str) -> None:
        if name == "action.after":
            raise RuntimeError("the driver is out of memory")

    fail_points.arm(fail_after_the_work)
    try:
        with pytest.raises(JobExecutionException, match="out of memory"):
            start("old")
    finally:
        fail_points.arm(None)
    records = start("new")
    assert {mark for mark, _ in records} == {"new"}
    assert min(calls for _, calls in records) == 1
    assert len(records) == RECORDS
