"""What a running job shows of itself: written by the driver loop, read by `JobClient` from other threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.engine.stages.task_report import TaskReport

_RECENT_EPOCHS = 100


@dataclass(frozen=True)
class EpochTimes:
    """Where the time of one epoch went, in seconds."""

    number: int
    records: int
    plan: float
    run: float
    publish_wait: float
    commit: float

    @property
    def total(self) -> float:
        """The whole epoch."""
        return self.plan + self.run + self.publish_wait + self.commit


@dataclass
class _Totals:
    epochs: int = 0
    restarts: int = 0
    records_read: int = 0
    state_bytes_written: int = 0
    operators: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    lag: dict[str, int] = field(default_factory=dict[str, int])


class JobProgress:
    """Counts, rates and phases of a job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals = _Totals()
        self._recent: deque[EpochTimes] = deque(maxlen=_RECENT_EPOCHS)
        self._tasks: dict[str, dict[str, Any]] = {}

    def restore(self, records: Mapping[str, int]) -> None:
        """Totals as the manifest has them."""
        with self._lock:
            self._totals.records_read = records.get("read", 0)

    def epoch_committed(self, times: EpochTimes, operators: Mapping[str, Mapping[str, int]], state_bytes: int) -> None:
        """Adds an epoch."""
        with self._lock:
            self._totals.epochs += 1
            self._totals.records_read += times.records
            self._totals.state_bytes_written += state_bytes
            for uid, counts in operators.items():
                totals = self._totals.operators.setdefault(uid, {})
                for name, count in counts.items():
                    totals[name] = totals.get(name, 0) + count
            self._recent.append(times)

    def lags(self, lag: dict[str, int]) -> None:
        """How much was waiting in each source when the last epoch was planned."""
        with self._lock:
            self._totals.lag = lag

    def restarted(self) -> None:
        """Counts a repeated epoch."""
        with self._lock:
            self._totals.restarts += 1

    def task_reports(self, reports: Iterable[TaskReport]) -> None:
        """Takes what tasks measured in an epoch."""
        with self._lock:
            for report in reports:
                task = self._tasks.setdefault(f"{report.stage}/{report.subtask}", {"busy_ms": 0.0, "bytes_out": 0})
                task["busy_ms"] += report.busy_ms
                task["bytes_out"] += report.bytes_out
                task["metrics"] = report.metrics

    @property
    def records_read(self) -> int:
        """Records read since the job's first start."""
        with self._lock:
            return self._totals.records_read

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data."""
        with self._lock:
            recent = list(self._recent)
            seconds = sum(times.total for times in recent)
            return {
                **asdict(self._totals),
                "records_per_second": sum(times.records for times in recent) / seconds if seconds else 0.0,
                "recent_epochs": [asdict(times) for times in recent[-10:]],
                "tasks": {name: dict(task) for name, task in self._tasks.items()},
            }
