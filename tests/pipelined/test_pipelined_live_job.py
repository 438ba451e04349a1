"""A Spark job works through epochs as it is ordered; whatever ends it is told to whoever waits for an epoch."""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from py4j.protocol import Py4JNetworkError

from penstock.common.errors import CheckpointUnavailableError, FailureReport, FencedError, JobExecutionException
from penstock.common.own_thread import in_own_thread
from penstock.connectors.sink import EpochId
from penstock.connectors.source import EpochBudget, SplitRead
from penstock.engine.epochs.stage_executor import ExecutionFailedError
from penstock.engine.pipelined import live_job, live_word
from penstock.engine.pipelined.executor import PipelinedStageExecutor
from penstock.engine.pipelined.live_header import (
    LiveHeader,
    LiveOrders,
    LiveSettings,
    live_header,
    orders_of,
    outcome_of,
)
from penstock.engine.pipelined.live_job import LiveJob
from penstock.engine.pipelined.live_stage_subtask import InputLostError, rows_of_epoch
from penstock.engine.pipelined.live_word import DriverLostError, leave_word, make_room, orders_in_turn, word_at
from penstock.engine.stages.envelope import NO_EDGE, Envelope, Kind
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.messages import Done
from penstock.engine.stages.task_report import TaskReport
from penstock.state.storage import LocalCheckpointStorage

SECONDS = 30
TASKS = [(0, 0), (1, 0)]
READS = [[PlannedRead(3, 9, "t-0", SplitRead("t-0", 5, None, {"topic": "t"}))]]


@pytest.fixture
def storage(tmp_path: Path) -> LocalCheckpointStorage:
    return LocalCheckpointStorage(str(tmp_path))


def header_of(job: LiveJob, number: int) -> LiveHeader:
    header = EpochHeader(
        "job", EpochId(1, number), 0, now=5, index=None, ended_sources=(), budget=EpochBudget(1, 1, 1), bounded=False
    )
    return live_header(header, READS, LiveSettings(0.0, 0.005), spark_job=job.name, turn=job.turn)


class Crew:
    """The tasks of a job, in a thread: they do as ordered, and note down which epochs that were."""

    def __init__(self, storage: LocalCheckpointStorage, problem_at: int | None = None) -> None:
        self._storage = storage
        self._problem_at = problem_at
        self.epochs: list[int] = []
        self.reads: list[object] = []
        self.problem: Exception | None = None
        self.ended = threading.Event()

    def __call__(self, name: str) -> None:
        try:
            for orders in orders_in_turn(self._storage, name):
                number = orders.header.epoch.number
                if number == self._problem_at:
                    raise ConnectionError("a worker is gone")
                self.epochs.append(number)
                self.reads.append(orders.tasks)
                for stage, subtask in TASKS:
                    report = TaskReport(stage, subtask, 0.0, number, {}, Done(stage, subtask))
                    leave_word(self._storage, orders.header.outcome(stage, subtask), pickle.dumps(report))
        except Exception as problem:
            self.problem = problem
            raise
        finally:
            self.ended.set()


def start(storage: LocalCheckpointStorage, work: Callable[[str], None]) -> tuple[LiveJob, list[str]]:
    cancelled: list[str] = []
    return LiveJob(storage, 0, TASKS, work, cancelled.append), cancelled


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)


def work_on(job: LiveJob, number: int, timeout: float | None = None) -> list[int]:
    header = header_of(job, number)
    return [report.bytes_out for report in job.work_on(header, LiveOrders(header, READS), timeout)]


def test_one_job_works_on_epoch_after_epoch_and_leaves_nothing_behind(
    storage: LocalCheckpointStorage, tmp_path: Path
) -> None:
    crew = Crew(storage)
    job, cancelled = start(storage, crew)
    assert [work_on(job, number) for number in (7, 8, 9)] == [[7, 7], [8, 8], [9, 9]]
    assert job.reports == [], "no epoch is under way"
    assert len(list((tmp_path / "live" / job.name).iterdir())) == 3, "the last epoch's word, and room for the next two"
    job.end()
    assert crew.ended.is_set()
    assert crew.epochs == [7, 8, 9]
    assert crew.reads == [READS] * 3
    assert not cancelled
    assert not list((tmp_path / "live").iterdir())


def test_whoever_waits_for_an_epoch_is_told_what_has_ended_the_job(storage: LocalCheckpointStorage) -> None:
    job, _ = start(storage, Crew(storage, problem_at=8))
    work_on(job, 7)
    with pytest.raises(ConnectionError, match="a worker is gone"):
        work_on(job, 8)
    job.end()


def test_tasks_that_end_too_early_have_not_done_the_epoch(storage: LocalCheckpointStorage) -> None:
    job, _ = start(storage, lambda name: None)
    with pytest.raises(ExecutionFailedError, match="ended before they were done"):
        work_on(job, 7)


def test_tasks_that_take_too_long_are_ended(storage: LocalCheckpointStorage) -> None:
    hangs = threading.Event()
    job, cancelled = start(storage, lambda name: hangs.wait(SECONDS) and None)
    with pytest.raises(ExecutionFailedError, match=r"took longer than 0\.05 s"):
        work_on(job, 7, timeout=0.05)
    assert cancelled == [job.name]
    hangs.set()
    job.end()


def test_tasks_go_when_another_driver_has_cleared_away(storage: LocalCheckpointStorage, tmp_path: Path) -> None:
    crew = Crew(storage)
    job, _ = start(storage, crew)
    work_on(job, 7)
    header = header_of(job, 8)
    shutil.rmtree(tmp_path / "live")
    assert crew.ended.wait(SECONDS)
    assert isinstance(crew.problem, DriverLostError), "a task that goes well leaves others waiting for its rows"
    with pytest.raises(FencedError, match="another driver"):
        leave_word(storage, header.outcome(0, 0))


def test_tasks_that_are_done_before_the_driver_has_made_room_for_more_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_looked = threading.Event()

    class Watched(LocalCheckpointStorage):
        def exists(self, path: str) -> bool:
            found = super().exists(path)
            if path.endswith("/1/orders"):
                has_looked.set()
            return found

    def make_room_later(storage: LocalCheckpointStorage, directory: str, paths: Iterable[str]) -> None:
        if job_has_begun:
            assert has_looked.wait(SECONDS)
        make_room(storage, directory, paths)

    monkeypatch.setattr(live_word, "_DRIVER_SECONDS", 0.0)
    monkeypatch.setattr(live_job, "make_room", make_room_later)
    job_has_begun = False
    storage = Watched(str(tmp_path))
    job, _ = start(storage, crew := Crew(storage))
    job_has_begun = True
    assert [work_on(job, number) for number in (7, 8)] == [[7, 7], [8, 8]]
    job.end()
    assert crew.problem is None


def test_what_a_task_says_went_wrong_is_known_when_the_job_has_ended(storage: LocalCheckpointStorage) -> None:
    failure = FailureReport("ValueError", "no", "", epoch=7, stage=1, subtask=0)

    def fails(name: str) -> None:
        for orders in orders_in_turn(storage, name):
            leave_word(storage, orders.header.outcome(1, 0), pickle.dumps(failure))
            raise ConnectionError("a task has failed")

    job, _ = start(storage, fails)
    with pytest.raises(ConnectionError):
        work_on(job, 7)
    assert job.failures(header_of(job, 7)) == (failure,)


def test_a_task_that_only_passes_rows_on_can_say_what_went_wrong(storage: LocalCheckpointStorage) -> None:
    failure = FailureReport("EnvironmentNotReadyError", "a module is missing here", "", epoch=7, stage=1, subtask=1)

    def fails(name: str) -> None:
        header = next(orders_in_turn(storage, name)).header
        leave_word(storage, header.outcome(1, 1), pickle.dumps(failure))
        raise ConnectionError("a task has failed")

    job = LiveJob(storage, 0, TASKS, fails, lambda name: None, passing=[(1, 1)])
    with pytest.raises(ConnectionError):
        work_on(job, 7)
    assert job.failures(header_of(job, 7)) == (failure,)


def test_what_tasks_have_done_can_be_asked_for_while_the_job_ends() -> None:
    class Ending(PipelinedStageExecutor):
        def __init__(self) -> None:
            self._looks = iter([SimpleNamespace(reports=[]), None])

        @property
        def _live_job(self) -> object:  # type: ignore[override]
            return next(self._looks)

    assert Ending().reports_so_far() == []


def test_a_jvm_that_is_gone_when_output_is_to_be_published_is_told_in_a_sentence() -> None:
    class Gone:
        def wait_for(self, needed: int) -> None:
            raise Py4JNetworkError("Answer from Java side is empty")

    class WithoutJvm(PipelinedStageExecutor):
        def __init__(self) -> None:
            self._session, self._slots, self._task_count = None, Gone(), 2  # type: ignore[assignment]

    with pytest.raises(JobExecutionException, match="the Spark driver's JVM is gone"):
        WithoutJvm().publish(EpochId(1, 7), [])


def test_a_task_that_says_that_it_has_failed_ends_the_job_at_once(storage: LocalCheckpointStorage) -> None:
    is_cancelled = threading.Event()

    def fails(name: str) -> None:
        leave_word(storage, next(orders_in_turn(storage, name)).header.failed)
        assert is_cancelled.wait(SECONDS), "its worker waits for input, which does not come"

    job = LiveJob(storage, 0, TASKS, fails, lambda name: is_cancelled.set())
    with pytest.raises(ExecutionFailedError, match="a task has failed"):
        work_on(job, 7)
    job.end()
    assert is_cancelled.is_set()


def test_a_driver_whose_tasks_have_found_no_room_for_their_word_does_not_try_again(
    storage: LocalCheckpointStorage, tmp_path: Path
) -> None:
    def is_cleared_away(name: str) -> None:
        next(orders_in_turn(storage, name))
        # The driver then waits, and does nothing that would tell it that somebody has cleared away.
        until(lambda: storage.exists(outcome_of(name, 2, *TASKS[-1])))
        shutil.rmtree(tmp_path / "live")
        raise ConnectionError("a task has failed")

    job, _ = start(storage, is_cleared_away)
    with pytest.raises(FencedError, match="orders is gone"):
        work_on(job, 7)


def test_tasks_that_cannot_be_told_to_go_are_ended(storage: LocalCheckpointStorage, tmp_path: Path) -> None:
    is_cancelled = threading.Event()
    job = LiveJob(storage, 0, TASKS, lambda name: is_cancelled.wait(SECONDS) and None, lambda name: is_cancelled.set())
    orders = tmp_path / orders_of(job.name, 0)
    orders.unlink()
    orders.symlink_to("/dev/full")
    job.end()
    assert is_cancelled.is_set()
    assert not list((tmp_path / "live").iterdir())


def test_tasks_of_a_driver_that_was_cleared_away_do_not_work_to_the_end_of_their_epoch(
    storage: LocalCheckpointStorage, tmp_path: Path
) -> None:
    is_cancelled = threading.Event()
    # The time in which tasks that know that they are to go do so is longer.
    job = LiveJob(storage, 0, TASKS, lambda name: is_cancelled.wait(5) and None, lambda name: is_cancelled.set())
    shutil.rmtree(tmp_path / "live")
    job.end()
    assert is_cancelled.is_set()


def test_tasks_go_when_their_parent_is_gone_since_the_last_epoch(
    storage: LocalCheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, _ = start(storage, lambda name: None)
    header = header_of(job, 7)
    leave_word(storage, header.orders, LiveOrders(header, READS).to_bytes())
    orders = orders_in_turn(storage, job.name)
    assert next(orders).header == header
    monkeypatch.setattr(os, "getppid", lambda: 1)
    with pytest.raises(DriverLostError):
        in_own_thread(lambda: next(orders), "task").result(SECONDS)


def test_a_task_without_orders_looks_often_at_first_and_seldom_when_it_has_waited_for_long(
    storage: LocalCheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, _ = start(storage, lambda name: None)
    header = header_of(job, 7)

    class Clock:
        looks: ClassVar[list[float]] = [0.0]

        def monotonic(self) -> float:
            return self.looks[-1]

        def sleep(self, seconds: float) -> None:
            self.looks.append(self.looks[-1] + seconds)
            if self.looks[-1] > 10:
                leave_word(storage, header.orders, LiveOrders(header, READS).to_bytes())

    monkeypatch.setattr(live_word, "time", Clock())
    assert next(orders_in_turn(storage, job.name)).header == header
    assert sum(look <= 0.04 for look in Clock.looks) > 15, "between two epochs records wait for it"
    assert sum(look > 1 for look in Clock.looks) < 200, "it has nothing to read in this one"


def test_word_for_which_the_disk_has_no_room_is_not_left_in_part(storage: LocalCheckpointStorage) -> None:
    make_room(storage, "live", ["live/a"])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    try:
        with pytest.raises(CheckpointUnavailableError, match="cannot write live/a"):
            leave_word(storage, "live/a", b"more than there is room for")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_word_that_is_half_written_is_not_there(storage: LocalCheckpointStorage, tmp_path: Path) -> None:
    make_room(storage, "live", ["live/a"])
    assert word_at(storage, "live/a") is None, "nothing was said yet"
    leave_word(storage, "live/a", b"hello")
    assert word_at(storage, "live/a") == b"hello"
    (tmp_path / "live" / "a").write_bytes((tmp_path / "live" / "a").read_bytes()[:-1])
    assert word_at(storage, "live/a") is None


def row(kind: Kind, sender: int = 0) -> Envelope:
    return Envelope(0, NO_EDGE, sender, 0, int(kind), b"")


def test_an_epoch_ends_when_all_senders_have_said_so() -> None:
    end, tick = row(Kind.END_OF_EPOCH), row(Kind.TICK)
    rows = iter([tick, end, row(Kind.PUSH), tick, end, tick, end])
    assert list(rows_of_epoch(rows, 2)) == [tick, end, tick, end]
    with pytest.raises(InputLostError, match="in the middle of an epoch"):
        list(rows_of_epoch(rows, 2))
