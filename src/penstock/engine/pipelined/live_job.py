"""A Spark job that works through one epoch after the other: its tasks stay, with all that they have at hand."""

from __future__ import annotations

import pickle
import shutil
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import wait

from penstock.common.errors import CheckpointUnavailableError, FailureReport, FencedError
from penstock.common.own_thread import in_own_thread
from penstock.engine.epochs.stage_executor import ExecutionFailedError
from penstock.engine.pipelined.live_header import (
    WORD_OF_TASKS,
    LiveHeader,
    LiveOrders,
    directory_of,
    end_mark_of,
    failed_of,
    orders_of,
    outcome_of,
)
from penstock.engine.pipelined.live_word import check_room, leave_word, make_room, word_at
from penstock.engine.stages.task_report import TaskReport
from penstock.state.storage import CheckpointStorage

_LOOK_SECONDS = 0.02
_LOOK_SECONDS_AT_END = 0.002
"""When the time of an epoch is up, records wait until the driver knows that all tasks are done."""
_END_SECONDS = 10.0
"""How long tasks that were told to end may take; then Spark ends them."""

_TURNS_AHEAD = 2
"""For how many epochs there is room for word: tasks that have nothing to do in one look for the orders of the next as
soon as they have those of the first, and must find a file."""

Task = tuple[int, int]
"""Stage and subtask."""


class LiveJob:
    """What the driver has of such a job. It is good for one run: a task that fails ends it."""

    def __init__(
        self,
        storage: CheckpointStorage,
        run: int,
        tasks: Sequence[Task],
        work: Callable[[str], None],
        cancel: Callable[[str], None],
        *,
        passing: Sequence[Task] = (),
    ) -> None:
        """`work` runs the Spark job of that name to its end, `cancel` ends it.

        `tasks` are those that get done; those that are `passing` rows on have nothing to say unless they fail.
        """
        self.name = uuid.uuid4().hex
        self.run = run
        self.turn = 0
        """How many epochs its tasks have done."""
        self.reports: list[TaskReport] = []
        """Of the epoch under way: what tasks that are done have said."""
        self._ordered = 0
        """How many epochs they were told to do: one more while one is under way."""
        self._storage = storage
        self._tasks = tasks
        self._all_tasks = (*tasks, *passing)
        self._cancel = cancel
        self._since = time.monotonic()
        for turn in range(_TURNS_AHEAD):
            self._make_room(turn)
        self._end = in_own_thread(lambda: work(self.name), "penstock-live-job")

    @property
    def age_seconds(self) -> float:
        """How long the job has been there."""
        return time.monotonic() - self._since

    def work_on(
        self,
        header: LiveHeader,
        orders: LiveOrders,
        timeout_seconds: float | None = None,
        is_given_up: Callable[[], bool] = lambda: False,
    ) -> Sequence[TaskReport]:
        """Lets the tasks work on the next epoch; returns when all are done.

        Raises what has ended the job, `ExecutionFailedError` where a task says that it has failed, or tasks take longer
        than that or are given up, and `FencedError` where another driver has cleared away.
        """
        self.reports = []
        started = time.monotonic()
        leave_word(self._storage, header.orders, orders.to_bytes())
        self._ordered = self.turn + 1
        # Records are on their way again: what else there is to do is done now.
        self._make_room(self.turn + _TURNS_AHEAD)
        shutil.rmtree(self._storage.resolve(directory_of(self.name, self.turn - 1)), ignore_errors=True)
        while not self._all_done(header):
            if self._end.done():
                # Tasks that find no room for their word end for that reason, whatever Spark makes of it.
                check_room(self._storage, header.orders)
                self._end.result()
                raise ExecutionFailedError("the tasks have ended before they were done")
            if word_at(self._storage, header.failed) is not None:
                # Its worker would first wait for input, for seconds where those before it wait for orders.
                self._cancel(self.name)
                raise ExecutionFailedError("a task has failed")
            passed = time.monotonic() - started
            if timeout_seconds is not None and passed > timeout_seconds:
                self._cancel(self.name)
                raise ExecutionFailedError(f"the tasks took longer than {timeout_seconds:g} s and were ended")
            if is_given_up():
                self._cancel(self.name)
                raise ExecutionFailedError("tasks have more to work through than there is time for, and were ended")
            wait([self._end], _LOOK_SECONDS if passed < header.live.seconds else _LOOK_SECONDS_AT_END)
        self.turn += 1
        reports, self.reports = self.reports, []
        return reports

    def failures(self, header: LiveHeader) -> tuple[FailureReport, ...]:
        """What tasks have said that went wrong."""
        said = [self._outcome(header, task) for task in self._all_tasks]
        return tuple(each for each in said if isinstance(each, FailureReport))

    def end(self) -> None:
        """Sends the tasks home; those that are in the middle of an epoch are to hurry."""
        if not self._end.done():
            patience = _END_SECONDS if self._is_told_to_end() else 0.0
            if not wait([self._end], patience).done:
                self._cancel(self.name)
                wait([self._end], _END_SECONDS)
        shutil.rmtree(self._storage.resolve(f"{WORD_OF_TASKS}/{self.name}"), ignore_errors=True)

    def _is_told_to_end(self) -> bool:
        """Says so to the tasks; whether they will know."""
        try:
            leave_word(self._storage, end_mark_of(self.name, self.turn))
            leave_word(self._storage, orders_of(self.name, self._ordered))
        except (FencedError, CheckpointUnavailableError):
            return False
        return True

    def _make_room(self, turn: int) -> None:
        outcomes = (outcome_of(self.name, turn, *task) for task in self._all_tasks)
        files = (*(path(self.name, turn) for path in (orders_of, end_mark_of, failed_of)), *outcomes)
        make_room(self._storage, directory_of(self.name, turn), files)

    def _all_done(self, header: LiveHeader) -> bool:
        """Looks at the first task that was not done, and at those behind it only where it is."""
        for task in self._tasks[len(self.reports) :]:
            outcome = self._outcome(header, task)
            if not isinstance(outcome, TaskReport):
                return False
            self.reports.append(outcome)
        return True

    def _outcome(self, header: LiveHeader, task: Task) -> TaskReport | FailureReport | None:
        word = word_at(self._storage, header.outcome(*task))
        # The tasks' own, and gone with the job.
        return None if word is None else pickle.loads(word)
