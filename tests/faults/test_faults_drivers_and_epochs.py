"""Two drivers, failed epochs and publishing under way: the protocol's awkward moments, on the local engine."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from faults.rolling_job import expected, published, start_job, write_input
from penstock.common import Configuration, fail_points
from penstock.common.errors import JobExecutionException
from penstock.common.fail_points import SimulatedCrash
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, TextLineFormat
from penstock.datastream.functions import KeyedProcessFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.engine.epochs.stage_executor import ExecutionFailedError
from penstock.engine.local.executor import LocalStageExecutor
from penstock.execution.job_client import JobClient

OPTIONS = {"execution.engine": "local", "execution.epoch.max-records": "25"}
SECONDS = 60


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    write_input(tmp_path / "in")
    return tmp_path


def start(directory: Path):
    return start_job(
        source=directory / "in",
        sink=directory / "out",
        checkpoint=directory / "checkpoint",
        options=OPTIONS,
        noise=True,
    )


def test_a_zombie_driver_is_fenced_and_publishes_nothing_more(directory):
    zombie_waits, zombie_may_go_on = threading.Event(), threading.Event()
    main = threading.current_thread()
    asleep: set[threading.Thread] = set()

    def hold_the_first_driver(name: str) -> None:
        thread = threading.current_thread()
        if name == "manifest.before" and not asleep and thread is not main:
            asleep.add(thread)
            zombie_waits.set()
            assert zombie_may_go_on.wait(SECONDS)

    fail_points.arm(hold_the_first_driver)
    try:
        zombie = start(directory)
        assert zombie_waits.wait(SECONDS)
        start(directory).wait(SECONDS)
        assert published(directory / "out") == expected(directory / "in")
        zombie_may_go_on.set()
        with pytest.raises(JobExecutionException, match="another driver has taken over"):
            zombie.wait(SECONDS)
    finally:
        fail_points.arm(None)
    assert published(directory / "out") == expected(directory / "in")


def test_a_driver_with_nothing_to_do_notices_that_another_has_taken_over(tmp_path):
    def watching() -> JobClient:
        configuration = Configuration()
        for key, value in {**OPTIONS, "execution.checkpointing.dir": str(tmp_path / "checkpoint")}.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        (tmp_path / "in").mkdir(exist_ok=True)
        env.from_source(FileSource(str(tmp_path / "in"), TextLineFormat(), watch=True), None, "lines").print()
        return env.execute_async("watching")

    idle = watching()
    while not (tmp_path / "checkpoint/manifests").exists():
        assert not idle.has_ended(within=0.01)
    second = watching()
    try:
        with pytest.raises(JobExecutionException, match="another driver has taken over"):
            idle.wait(SECONDS)
        assert not second.has_ended()
    finally:
        second.cancel().result(SECONDS)


def test_a_fenced_driver_that_loses_its_epoch_does_not_run_it_again(monkeypatch, directory):
    run = LocalStageExecutor.run
    drivers: list[threading.Thread] = []
    runs = 0

    def lose_the_first_drivers_second_epoch(self, header, tasks):
        nonlocal runs
        if not drivers:
            drivers.append(threading.current_thread())
        if threading.current_thread() not in drivers:
            return run(self, header, tasks)
        runs += 1
        if runs < 2:
            return run(self, header, tasks)
        start(directory).wait(SECONDS)
        raise ExecutionFailedError("an executor died")

    monkeypatch.setattr(LocalStageExecutor, "run", lose_the_first_drivers_second_epoch)
    with pytest.raises(JobExecutionException, match="another driver has taken over"):
        start(directory).wait(SECONDS)
    assert runs == 2
    assert published(directory / "out") == expected(directory / "in")


def test_a_crash_between_manifest_and_publish_with_the_next_epoch_under_way(directory):
    next_epoch_runs, dead = threading.Event(), threading.Event()
    manifests = 0

    def die_late(name: str) -> None:
        nonlocal manifests
        if dead.is_set():
            raise SimulatedCrash(name)
        if name == "manifest.after":
            manifests += 1
        if name == "publish.before" and manifests == 2:
            assert next_epoch_runs.wait(SECONDS), "the next epoch is meant to run while this one is published"
            dead.set()
            raise SimulatedCrash(name)
        if name == "task.gathered" and manifests == 2:
            next_epoch_runs.set()

    fail_points.arm(die_late)
    try:
        with pytest.raises(SimulatedCrash):
            start(directory).wait(SECONDS)
    finally:
        fail_points.arm(None)
    start(directory).wait(SECONDS)
    assert published(directory / "out") == expected(directory / "in")


class CountsOnSelf(KeyedProcessFunction):
    """Keeps a count where it must not be kept, beside the one in state."""

    def open(self, runtime_context):
        self.calls = 0
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        self.calls += 1
        self.count.update((self.count.value() or 0) + 1)
        yield self.calls, self.count.value()


def test_objects_that_a_failed_epoch_left_behind_are_not_used_again(monkeypatch):
    run = LocalStageExecutor.run
    epochs = []

    def fail_the_second_epoch_after_its_work(self, header, tasks):
        results = run(self, header, tasks)
        epochs.append(header.epoch.number)
        if len(epochs) == 2:
            raise ExecutionFailedError("an executor died")
        return results

    monkeypatch.setattr(LocalStageExecutor, "run", fail_the_second_epoch_after_its_work)
    configuration = Configuration()
    configuration.set_string("execution.engine", "local").set_string("execution.epoch.max-records", "2")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    with env.from_collection([1] * 6).key_by(lambda v: v).process(CountsOnSelf()).execute_and_collect() as results:
        assert list(results) == [(1, 1), (2, 2), (1, 3), (2, 4), (3, 5), (4, 6)]
    assert epochs[1] == epochs[2], "the failed epoch is run again under the same number"


def test_an_epoch_that_fails_again_and_again_ends_the_job(monkeypatch, directory):
    def lose_every_executor(self, header, tasks):
        raise ExecutionFailedError("an executor died")

    monkeypatch.setattr(LocalStageExecutor, "run", lose_every_executor)
    with pytest.raises(JobExecutionException, match="failed 4 times: an executor died"):
        start(directory).wait(SECONDS)


def test_objects_of_a_retried_task_are_not_used_again(monkeypatch):
    run = LocalStageExecutor.run
    runs = []

    def report_a_retry_in_the_first_epoch(self, header, tasks):
        results = run(self, header, tasks)
        runs.append(header.run)
        return results if len(runs) > 1 else replace(results, reports=(*results.reports, *results.reports))

    monkeypatch.setattr(LocalStageExecutor, "run", report_a_retry_in_the_first_epoch)
    configuration = Configuration()
    configuration.set_string("execution.engine", "local").set_string("execution.epoch.max-records", "2")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    with env.from_collection([1] * 6).key_by(lambda v: v).process(CountsOnSelf()).execute_and_collect() as results:
        assert list(results) == [(1, 1), (2, 2), (1, 3), (2, 4), (3, 5), (4, 6)]
    assert runs == [0, 1, 1]
