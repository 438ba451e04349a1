"""The contract of a sink: writers in the tasks stage, a committer publishes what the manifest names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from penstock.common.batch import Batch
from penstock.common.watermark_generator import MIN_TIMESTAMP
from penstock.functions.function import RuntimeContext
from penstock.state.storage import CheckpointStorage

MIN_WATERMARK = MIN_TIMESTAMP

Token = Mapping[str, Any]
"""What a writer says of staged output: JSON, and the same bytes on every attempt that wrote the same records."""


class EpochId(NamedTuple):
    """The identity of an epoch; ids compare lexicographically."""

    incarnation: int
    number: int

    def __str__(self) -> str:
        return f"{self.incarnation}.{self.number}"


class DeliveryGuarantee(Enum):
    """What a reader of the sink's target may see after failures."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    NONE = "none"


@dataclass(frozen=True)
class SinkWriterContext:
    """Where a writer works."""

    job_id: str
    uid: str
    subtask: int
    parallelism: int
    epoch: EpochId
    storage: CheckpointStorage
    staging: str
    """The beginning of the names in `storage` that belong to this writer in this epoch."""
    processing_time: int = 0
    """Constant within an epoch."""
    current_watermark: Callable[[], int] = lambda: MIN_WATERMARK
    """How far event time has come, in ms."""
    runtime_context: RuntimeContext | None = None
    """What functions of the program ask."""


class SinkWriter(ABC):
    """Takes the records of one subtask in one epoch. A new writer is made for every epoch."""

    @abstractmethod
    def write(self, batch: Batch) -> None:
        """Takes records; where they go now is seen by no reader of the target."""

    @abstractmethod
    def prepare_commit(self) -> list[Token]:
        """Makes everything written durable and returns what the committer needs; nothing written: an empty list."""

    def close(self) -> None:
        """Called after `prepare_commit`, and after a failure without it."""
        return


@dataclass(frozen=True)
class CommitterContext:
    """Where a committer works: on the driver, once per sink and run."""

    job_id: str
    uid: str
    storage: CheckpointStorage


class Committer(ABC):
    """Publishes epochs on the driver, in order, after their manifest is on disk."""

    @abstractmethod
    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        """Publishes; must be idempotent: a restart commits the newest epoch again."""

    def recover(self, newest: EpochId | None) -> None:
        """Called once before anything else.

        Raises `SinkError` when the target shows an epoch newer than `newest`: the checkpoint is an old copy, and
        going on would publish records twice.
        """
        return

    def close(self) -> None:
        """Lets go of connections."""
        return


class Sink(ABC):
    """A place that records go to. Instances are pickled to the tasks: keep connections out of them."""

    @property
    @abstractmethod
    def guarantee(self) -> DeliveryGuarantee:
        """What this sink promises."""

    @abstractmethod
    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        """A writer for one subtask and one epoch."""

    def close(self) -> None:
        """Called in a subtask that made writers, at the end of the job; not promised after a failure."""
        return

    def create_committer(self, context: CommitterContext) -> Committer | None:
        """The committer; None when writing is all there is to do."""
        return None

    def describe(self) -> str:
        """A few words for `explain()`."""
        return type(self).__name__
