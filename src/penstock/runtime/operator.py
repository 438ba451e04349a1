"""What an operator is: a plain class that takes batches, watermarks and time, and emits batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.common.batch import Batch
from penstock.common.watermark_generator import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.connectors.sink import EpochId
from penstock.runtime.metrics import MetricGroup
from penstock.state.operator_state import UnionLists
from penstock.state.storage import CheckpointStorage
from penstock.state.store import StateStore

MIN_WATERMARK = MIN_TIMESTAMP
MAX_WATERMARK = MAX_TIMESTAMP


class Output(Protocol):
    """Where an operator's results go: the next operators of its chain and the edges that leave it."""

    def emit(self, batch: Batch) -> None:
        """Sends records on."""
        ...

    def emit_side(self, tag: str, batch: Batch) -> None:
        """Sends records to a side output; a tag nobody reads is dropped there."""
        ...

    def emit_watermark(self, watermark: int) -> None:
        """Sends a watermark that the operator makes itself; it also says that the operator is not idle."""
        ...

    def emit_idle(self) -> None:
        """Says that nothing is to be expected from the operator for now."""
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
    """Constant within an epoch, but in pipelined mode, where epochs last."""
    job_parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    """The job's global parameters."""
    cached_files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where the files are that travel with the job, by name."""
    restored_epoch: int | None = None
    """The number of the manifest that the state was of when the operator was opened; None: there was none."""
    union_lists: UnionLists = field(default_factory=dict[str, Sequence[str]])
    """What all subtasks had saved in union lists when the operator was opened."""
    watermark_interval: int = 200
    """How often, in ms, generators of watermarks are asked when no records come; 0: never."""
    batch: bool = False
    """Batch execution: a keyed operator gets its records sorted by key, and `end_key` after those of each key."""
    records_from: str = ""
    """The operator of the same chain that hands it its records, and the line that made that one."""


class Operator:
    """One subtask of one operator; lives between epochs. The engine calls, in every epoch:

    `begin_epoch`, then any order of `process` / `advance_watermark`, `advance_processing_time` once, at the end
    of input `finish`, then `end_epoch`. `drop_caches` comes before `begin_epoch` when another process has worked
    on the subtask's state since.
    """

    current_watermark: int = MIN_WATERMARK
    """How far event time has come."""
    passes_idleness: bool = True
    """Whether consumers hear that the inputs are idle; not where an operator makes its own watermarks."""

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

    def end_input(self, input_index: int) -> None:
        """One of the inputs has ended; called again after `drop_caches`, and before event time rises for it."""
        return

    def inputs_fall_idle(self) -> None:
        """Nothing is to be expected on the inputs for now; called before consumers hear of it."""
        return

    def advance_processing_time(self, now: int) -> None:
        """Processing time moves on: fires timers."""
        return

    def time_goes_on(self, *, anew: bool) -> None:
        """Pipelined mode: an epoch begins, the first one since a start or another one. No record could come before."""
        return

    def records_waited(self, ms: int) -> None:
        """Pipelined mode: so much of the time that has passed was no silence: records may have waited behind others."""
        return

    def time_passes(self) -> None:
        """Pipelined mode: called many times in a second, with or without records between; sends on what is ready."""
        return

    def end_key(self) -> None:
        """Batch execution: the current key has no more records. Its timers fire, and all that is its own goes.

        For the next key event time is at its beginning again; consumers hear nothing of that.
        """
        self.advance_watermark(MAX_WATERMARK)
        self.advance_processing_time(MAX_WATERMARK)
        self.forget_key()
        self.restore_watermark(MIN_WATERMARK)

    def forget_key(self) -> None:
        """Batch execution: forgets the state and the timers of the current key; the store is emptied by the engine."""
        self.drop_caches()

    def finish(self) -> None:
        """All inputs have ended and the watermark is MAX."""
        return

    def snapshot_function(self) -> None:
        """The epoch is about to end: a function that saves state of its own does so."""
        return

    def end_epoch(self) -> None:
        """Writes what is in memory to the store."""
        return

    def clean_up_before_snapshot(self) -> None:
        """Removes what has expired from the store: all of it is about to be written anew. Comes after `end_epoch`."""
        return

    @property
    def has_checkpointed_function(self) -> bool:
        """Whether the function has taken up state of its own, which another process may have changed since."""
        return False

    def union_lists(self) -> Mapping[str, str]:
        """What the function has in union lists; valid after `snapshot_function`."""
        return {}

    def next_processing_timer(self) -> int | None:
        """When the earliest processing-time timer is due, in ms."""
        return None

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        return

    def close(self) -> None:
        """The end of the job. Not promised after a crash."""
        return
