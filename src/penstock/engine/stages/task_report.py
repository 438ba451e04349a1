"""What a task measured: times and metrics. They differ from attempt to attempt, so they travel beside the rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.engine.stages.envelope import Envelope, Kind
from penstock.engine.stages.input_waits import InputWaits
from penstock.engine.stages.messages import Done, done_from_bytes
from penstock.runtime.metrics import MetricGroup


@dataclass(frozen=True)
class TaskReport:
    """One task in one epoch."""

    stage: int
    subtask: int
    busy_ms: float
    """Time spent in our code and the user's, waits for input and output left out."""
    bytes_out: int
    metrics: dict[str, Any]
    """What user functions and operators counted, since the task's process first saw the job."""
    done: Done | None = None
    """What the task tells the driver at its end; here for those who watch an epoch under way. None: it failed."""
    attempt: int = 0
    """How often the engine had tried the task before."""
    state_bytes_fetched: int = 0
    """What was read of the subtask's state from the checkpoint: more than 0 where the subtask has moved."""
    operator_ms: Mapping[str, float] = field(default_factory=dict[str, float])
    """How long each operator has worked, by uid."""
    waited_ms: float = 0.0
    """How long the task waited for input."""
    on_rows_ms: float = 0.0
    """Pipelined mode: how much of `busy_ms` went by while rows came in. Before that the task starts; behind that it
    stages what it has made, which takes as long as the disk takes, however few records there were."""


Report = Callable[[TaskReport], None]


def reported(
    rows: Iterator[Envelope],
    stage: int,
    subtask: int,
    metrics: MetricGroup,
    report: Report,
    waits: InputWaits,
    fetched_bytes: Callable[[], int] = lambda: 0,
    operator_times: Callable[[], Mapping[str, float]] = dict[str, float],
) -> Iterator[Envelope]:
    """The rows of a task, and a report when they end."""
    busy = on_rows = 0.0
    size = 0
    done: Done | None = None
    while True:
        started = time.perf_counter()
        row = next(rows, None)
        finished = time.perf_counter()
        busy += finished - started
        on_rows += waits.among_rows(started, finished)
        if row is None:
            break
        size += len(row.payload)
        if row.kind == Kind.MESSAGE and (row.seq, row.sender) == (stage, subtask):
            done = done_from_bytes(row.payload)
        yield row
    waited = min(waits.take(), busy)
    report(
        TaskReport(
            stage,
            subtask,
            round((busy - waited) * 1000, 1),
            size,
            metrics.snapshot(),
            done,
            state_bytes_fetched=fetched_bytes(),
            operator_ms=operator_times(),
            waited_ms=round(waited * 1000, 1),
            on_rows_ms=round(max(0.0, on_rows - waited) * 1000, 1),
        )
    )
