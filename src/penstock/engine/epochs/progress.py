"""What a running job shows of itself: written by the driver loop, read by `JobClient` from other threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.engine.epochs.epoch_counts import OperatorRecords, added
from penstock.engine.epochs.epoch_times import EpochTimes, SlowEpochs
from penstock.engine.epochs.event_time import EventTime
from penstock.engine.stages.messages import Done
from penstock.engine.stages.task_report import TaskReport

_RECENT_EPOCHS = 100


@dataclass
class _Totals:
    epochs: int = 0
    restarts: int = 0
    records_read: int = 0
    state_bytes_written: int = 0
    state_moves: int = 0
    """How often a subtask's state was not where the subtask ran, and was read from the checkpoint."""
    state_bytes_fetched: int = 0
    """How much was read for that."""
    operators: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """What each operator has counted since the job's first start, in committed epochs."""
    lag: dict[str, int] = field(default_factory=dict[str, int])
    state: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """How many entries and bytes of state each operator has."""


class JobProgress:
    """Counts, rates and phases of a job."""

    def __init__(self, slow_epochs: SlowEpochs | None = None) -> None:
        self._slow_epochs = slow_epochs
        self._lock = threading.Lock()
        self._totals = _Totals()
        self._recent: deque[EpochTimes] = deque(maxlen=_RECENT_EPOCHS)
        self._tasks: dict[str, dict[str, Any]] = {}
        self._busy_ms: dict[str, float] = {}
        self._waits: deque[tuple[float, dict[str, float]]] = deque(maxlen=_RECENT_EPOCHS)
        """Of recent epochs: how long they took, and how long of it sources waited that had more to read."""
        self._reports_so_far: Callable[[], Sequence[TaskReport]] | None = None
        self._event_time = EventTime()

    def restore(self, records: Mapping[str, int], operators: OperatorRecords) -> None:
        """Totals as the manifest has them."""
        with self._lock:
            self._totals.records_read = records.get("read", 0)
            self._totals.operators = added(operators)

    def epoch_committed(
        self,
        times: EpochTimes,
        operators: OperatorRecords,
        state_bytes: int,
        state: Mapping[str, dict[str, int]],
    ) -> None:
        """Adds an epoch."""
        if self._slow_epochs is not None:
            self._slow_epochs.look_at(times)
        with self._lock:
            self._reports_so_far = None
            self._totals.epochs += 1
            self._totals.records_read += times.records
            self._totals.state_bytes_written += state_bytes
            self._totals.state = dict(state)
            self._totals.operators = added(self._totals.operators, operators)
            self._recent.append(times)

    def sources_waited(self, seconds: float, waited: Mapping[str, float]) -> None:
        """An epoch took so long; so long of it sources with more to read waited for operators behind them, by uid."""
        with self._lock:
            self._waits.append((seconds, dict(waited)))

    def epoch_runs(self, reports_so_far: Callable[[], Sequence[TaskReport]]) -> None:
        """An epoch begins: until it is committed or lost, what its tasks have done is looked up there."""
        with self._lock:
            self._reports_so_far = reports_so_far

    def epoch_is_lost(self) -> None:
        """The epoch under way has not happened."""
        with self._lock:
            self._reports_so_far = None

    def lags(self, lag: dict[str, int]) -> None:
        """How much was waiting in each source when the last epoch was planned."""
        with self._lock:
            self._totals.lag = lag

    def event_time_moved(self, event_time: EventTime) -> None:
        """How far event time has come after an epoch."""
        with self._lock:
            self._event_time = event_time

    @property
    def event_time(self) -> EventTime:
        """How far event time has come."""
        with self._lock:
            return self._event_time

    def restarted(self) -> None:
        """Counts a repeated epoch."""
        with self._lock:
            self._totals.restarts += 1

    def task_reports(self, reports: Sequence[TaskReport]) -> None:
        """Takes what tasks measured in an epoch."""
        with self._lock:
            self._reports_so_far = lambda: reports
            for report in reports:
                name = f"{report.stage}/{report.subtask}"
                task = self._tasks.setdefault(name, {"busy_ms": 0.0, "waited_ms": 0.0, "bytes_out": 0})
                task["busy_ms"] += report.busy_ms
                task["waited_ms"] += report.waited_ms
                task["bytes_out"] += report.bytes_out
                task["metrics"] = report.metrics
                for uid, ms in report.operator_ms.items():
                    self._busy_ms[uid] = self._busy_ms.get(uid, 0.0) + ms
                self._totals.state_moves += report.state_bytes_fetched > 0
                self._totals.state_bytes_fetched += report.state_bytes_fetched

    @property
    def epochs(self) -> int:
        """How many epochs this driver has committed."""
        with self._lock:
            return self._totals.epochs

    @property
    def records_read(self) -> int:
        """Records read since the job's first start."""
        with self._lock:
            return self._totals.records_read

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data. Counts include what tasks of the epoch under way have done."""
        with self._lock:
            running = self._tasks_done()
            totals = asdict(self._totals)
            totals["operators"] = added(totals["operators"], *(done.operators for done in running))
            for done in running:
                totals["records_read"] += sum(read.records for read in done.reads)
            recent = list(self._recent)
            seconds = sum(times.total for times in recent)
            return {
                **totals,
                "tasks_done_in_epoch": len(running),
                "records_per_second": sum(times.records for times in recent) / seconds if seconds else 0.0,
                "recent_epochs": [asdict(times) for times in recent[-10:]],
                "busy_ms": {uid: round(ms, 1) for uid, ms in self._busy_ms.items()},
                "back_pressure": self._back_pressure(),
                **self._event_time.to_json(),
                "tasks": {name: dict(task) for name, task in self._tasks.items()},
            }

    def _back_pressure(self) -> dict[str, float]:
        """Of every source, the share of the time of recent epochs in which it waited though it had more to read."""
        whole = sum(seconds for seconds, _ in self._waits)
        waited: dict[str, float] = {}
        for _, of_sources in self._waits:
            for uid, seconds in of_sources.items():
                waited[uid] = waited.get(uid, 0.0) + seconds
        return {uid: round(seconds / whole, 3) if whole else 0.0 for uid, seconds in waited.items()}

    def _tasks_done(self) -> list[Done]:
        """What tasks of the epoch under way said at their end; of a task that ran twice, what it said last."""
        reports = self._reports_so_far() if self._reports_so_far is not None else ()
        done = {(report.stage, report.subtask): report.done for report in reports}
        return [each for each in done.values() if each is not None]
