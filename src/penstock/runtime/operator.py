"""What an operator is: a plain class that takes batches, watermarks and time, and emits batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from penstock.common.batch import Batch
from penstock.connectors.sink import EpochId
from penstock.runtime.metrics import MetricGroup
from penstock.state.storage import CheckpointStorage
from penstock.state.store import StateStore

MIN_WATERMARK = -(1 << 63)
MAX_WATERMARK = (1 << 63) - 1


class Output(Protocol):
    """Where an operator's results go: the next operators of its chain and the edges that leave it."""

    def emit(self, batch: Batch) -> None:
        """Sends records on."""
        ...

    def emit_side(self, tag: str, batch: Batch) -> None:
        """Sends records to a side output; a tag nobody reads is dropped there."""
        ...


@dataclass
class OperatorContext:
    """What an operator subtask works with. One object per subtask; the engine updates the epoch's fields."""

    job_id: str
    job_name: str
    name: str
    uid: str
    subtask: int
    parallelism: int
    max_parallelism: int
    attempt: int
    call_site: str
    output: Output
    store: StateStore
    storage: CheckpointStorage
    metrics: MetricGroup
    epoch: EpochId
    staging: str
    """The beginning of the names in `storage` of what this operator stages in this epoch."""
    processing_time: int
    """Constant within an epoch."""
    job_parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    """The job's global parameters."""


class Operator:
    """One subtask of one operator; lives between epochs. The engine calls, in every epoch:

    `begin_epoch`, then any order of `process` / `advance_watermark`, `advance_processing_time` once, at the end
    of input `finish`, then `end_epoch`. `drop_caches` comes before `begin_epoch` when another process has worked
    on the subtask's state since.
    """

    current_watermark: int = MIN_WATERMARK
    """How far event time has come."""

    def open(self, context: OperatorContext) -> None:
        """Called once, before the first epoch."""
        raise NotImplementedError

    def begin_epoch(self) -> None:
        """A new epoch: the context's epoch fields are new."""
        return

    def process(self, batch: Batch, input_index: int) -> None:
        """Takes records of one of the inputs."""
        raise NotImplementedError

    def advance_watermark(self, watermark: int) -> int:
        """Event time moves on: fires timers; returns the watermark for the operator's consumers."""
        self.current_watermark = watermark
        return watermark

    def restore_watermark(self, watermark: int) -> None:
        """Event time is where it was when the subtask last worked: nothing fires."""
        self.current_watermark = watermark

    def advance_processing_time(self, now: int) -> None:
        """Processing time moves on: fires timers."""
        return

    def finish(self) -> None:
        """All inputs have ended and the watermark is MAX."""
        return

    def end_epoch(self) -> None:
        """Writes what is in memory to the store."""
        return

    def next_processing_timer(self) -> int | None:
        """When the earliest processing-time timer is due, in ms."""
        return None

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        return

    def close(self) -> None:
        """The end of the job. Not promised after a crash."""
        return
