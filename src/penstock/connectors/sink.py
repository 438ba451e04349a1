"""The contract of a sink: writers in the tasks stage output; when the manifest names it, it is published.

Publishing has two steps, and a sink has either or both: its *publishers* run in tasks, one per subtask that has output,
for sinks whose publishing moves records (a database, a message log); then its *committer* runs on the driver, for what
costs the same however many records there are (renaming files, a commit to a table's log).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from penstock.common.batch import Batch
from penstock.common.typeinfo import TypeInformation
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
    current_processing_time: Callable[[], int] = lambda: 0
    """In ms. It passes within an epoch only in pipelined mode, where epochs last."""
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
        """Makes everything written durable and returns what is needed to publish it; nothing written: an empty list.

        A subtask that returns no tokens has nothing to publish: no call is made for it, and none for the whole epoch
        when no subtask has any.
        """

    def close(self) -> None:
        """Called after `prepare_commit`, and after a failure without it."""
        return


@dataclass(frozen=True)
class CommitterContext:
    """Where a committer works: on the driver, once per sink and run."""

    job_id: str
    uid: str
    storage: CheckpointStorage
    parallelism: int = 1
    """How many subtasks the sink has."""


@dataclass(frozen=True)
class EpochEnd:
    """The moment before the manifest of an epoch is written, as a committer sees it."""

    epoch: EpochId
    now: int
    """Processing time, constant within the epoch."""
    watermark: int
    """How far event time has come at the sink, in all its subtasks."""
    is_last: bool
    """Whether the job ends with this epoch."""
    state: MutableMapping[str, Any]
    """What the committer keeps: JSON values, durable with the manifest. Only `gather` changes it."""


class Committer(ABC):
    """Publishes epochs on the driver, in order, after their manifest is on disk and the sink's publishers are done."""

    @abstractmethod
    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        """Publishes; must be idempotent: a restart commits the newest epoch again.

        Where the sink's publishers do it all, nothing is left to do here.
        """

    def gather(self, tokens: Mapping[int, Sequence[Token]], end: EpochEnd) -> Mapping[int, Sequence[Token]]:
        """Decides what of the staged output is published with this epoch; called for every epoch, also an empty one.

        `tokens` are those of the writers, by subtask. What has to wait for a later epoch goes into `end.state`.
        """
        return tokens

    def next_due(self) -> int | None:
        """When, in ms of processing time, what waits has to be looked at again; None: when there is output."""
        return None

    def recover(self, newest: EpochId | None) -> None:
        """Called once before anything else.

        Raises `SinkError` when the target shows an epoch newer than `newest`: the checkpoint is an old copy, and
        going on would publish records twice.
        """
        return

    def close(self) -> None:
        """Lets go of connections."""
        return


@dataclass(frozen=True)
class PublisherContext:
    """Where a publisher works: in a task, for one subtask of the sink."""

    job_id: str
    uid: str
    subtask: int
    parallelism: int
    """How many subtasks the sink has."""
    storage: CheckpointStorage


class TokenPublisher(ABC):
    """Publishes what one subtask has staged, in a task; lives from epoch to epoch in a worker process.

    Epochs come in order and one at a time, and only those in which the subtask has output. What is published must be
    remembered by the target itself, in the same transaction, under (job id, sink uid, subtask) with the epoch: an epoch
    that is already there is left alone. The same epoch comes again when a task, an executor or the driver has died, and
    then another process may have done the work already, or may still be at it: fence it off before you look.

    Errors that may pass are retried here, with back-off and within a time-out (`connectors/retries.py`); what is raised
    ends the job, or makes it start again. A publisher is closed after an error, and when another process has published
    for its subtask since; a new one is made when there is more to publish.
    """

    @abstractmethod
    def publish(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        """Publishes the tokens of this subtask, in the order in which its writer returned them."""

    def close(self) -> None:
        """Lets go of connections; not promised when a worker process ends."""
        return


class Sink(ABC):
    """A place that records go to. Instances are pickled to the tasks: keep connections out of them."""

    @property
    @abstractmethod
    def guarantee(self) -> DeliveryGuarantee:
        """What this sink promises."""

    @property
    def output_kind(self) -> str:
        """Which sinks can publish what this one has staged: those that say the same here.

        A program whose sink says something else is refused while there may be staged output that is not published. By
        default it is the class and what it promises; a sink adds what its tokens do not say, such as where they lead.
        """
        return f"{type(self).__name__}, {self.guarantee.value}"

    def for_records(self, record_type: TypeInformation) -> Sink:
        """The sink for records of a type; called where the program is built. Raises where it cannot take them."""
        return self

    @abstractmethod
    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        """A writer for one subtask and one epoch."""

    def close(self) -> None:
        """Called in a subtask that made writers, at the end of the job; not promised after a failure."""
        return

    def create_committer(self, context: CommitterContext) -> Committer | None:
        """The committer on the driver; None when there is nothing to do there."""
        return None

    def create_publisher(self, context: PublisherContext) -> TokenPublisher | None:
        """A publisher for one subtask; None when there is nothing to do in tasks.

        Connect when the first epoch is published and not here: the driver asks too, to see whether there is one.
        """
        return None

    def describe(self) -> str:
        """A few words for `explain()`."""
        return type(self).__name__
