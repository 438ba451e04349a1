"""The contract of a source: an enumerator on the driver says what to read, readers in the tasks read it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from penstock.common.batch import Batch
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.broken_records import BrokenRecords
from penstock.functions.output_tag import OutputTag

Json = Any
"""What `json.dumps` takes; positions and descriptors are kept in manifests, so nothing else will do."""


FieldCondition = tuple[str, str, int | str]
"""A field, one of `==`, `<`, `<=`, `>`, `>=`, and the value that it is compared with."""


class Boundedness(Enum):
    """Whether a source ends by itself."""

    BOUNDED = "bounded"
    CONTINUOUS_UNBOUNDED = "unbounded"


@dataclass(frozen=True)
class EpochBudget:
    """How much one epoch may read, over all splits of all sources."""

    max_records: int
    max_bytes: int
    parallelism: int


@dataclass(frozen=True)
class SplitRead:
    """One order to a reader: this split, from `start` to `end`.

    `end` None leaves the end to the reader, which stops at the budget and reports how far it came.
    """

    split_id: str
    start: Json
    end: Json | None = None
    descriptor: Mapping[str, Json] = field(default_factory=dict[str, Json])
    finishes: bool = False
    """True when nothing of this split is left after this read."""
    size: int = 1
    """Relative cost (bytes or records), for spreading reads over tasks."""


@dataclass(frozen=True)
class EnumeratorContext:
    """What an enumerator works with.

    `state` is durable: its content as of an epoch's manifest is what a restarted enumerator finds. Values are JSON.
    Change it only inside `poll` and `advanced`.
    """

    state: MutableMapping[str, Json]
    parallelism: int
    bounded: bool
    """True in batch execution: read what is there at the start and end."""
    operator: str = "Source"
    """The name of the source in the job."""
    uid: str = ""
    call_site: str = ""
    """The line of the program that made it."""


class SplitEnumerator(ABC):
    """Decides, on the driver, what the next epoch reads."""

    @abstractmethod
    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        """What the next epoch is to read (nothing: an empty list). At most one read per split."""

    @abstractmethod
    def is_exhausted(self) -> bool:
        """True when no later poll will return anything: the end of a bounded source."""

    def advanced(self, split_id: str, position: Json, finished: bool) -> None:
        """Tells how far a reader came in an epoch that is about to be committed."""
        return

    def live_splits(self) -> Collection[str]:
        """Splits that exist and have not ended, also such as never had anything to read: event time waits for them.

        Those that `poll` has handed out need not be named.
        """
        return ()

    def hold_back(self, split_ids: Collection[str]) -> None:
        """Leaves these splits, and no others, out of the next polls: others have to catch up with them first.

        Where that cannot be done for single splits nothing happens.
        """
        return

    def lag(self) -> int | None:
        """How many records are waiting beyond what the last poll handed out; None where that is not known."""
        return None

    def next_poll(self, now: int) -> int:
        """When, in ms, it is worth asking again after an empty poll."""
        return now + 10

    def close(self) -> None:
        """Lets go of connections."""
        return


class SplitReader(ABC):
    """Reads splits in a task. One reader serves many reads, one after the other, and lives between epochs."""

    position: Json = None
    """After `read` is exhausted: where the next read of this split starts."""
    finished: bool = False
    """After `read` is exhausted: whether the split has ended."""
    watermark: int | None = None
    """How far event time has come before the next batch, and after the last, where the source itself says so."""
    broken_records: BrokenRecords | None = None
    """What could not be read; looked at after every batch and at the end of a read."""

    @abstractmethod
    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        """The records of one read, in order, as batches of a bounded size."""

    def close(self) -> None:
        """Lets go of files and connections."""
        return


class Source(ABC):
    """A place that records come from. Instances are pickled to the tasks: keep connections out of them."""

    is_prepared: bool = True
    """False for a source that cannot be pickled itself: what its `prepared` returns is read in its place."""

    @property
    def position_kind(self) -> str:
        """Which sources understand its positions: those with the same name here, which is that of the class."""
        return type(self).__name__

    @property
    def broken_records_tag(self) -> OutputTag | None:
        """The side output for records that cannot be read, where there is one."""
        return None

    @property
    @abstractmethod
    def boundedness(self) -> Boundedness:
        """Whether the source ends by itself."""

    @property
    @abstractmethod
    def produced_type(self) -> TypeInformation:
        """The type of its records."""

    @abstractmethod
    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        """A new enumerator, continuing from what `context.state` holds."""

    @abstractmethod
    def create_reader(self) -> SplitReader:
        """A new reader, called in a task."""

    def prepared(self, directory: str) -> Source:
        """The source as the job reads it. Called on the driver at every start, before anything is shipped.

        `directory` is the path of a directory in the checkpoint, for this source alone, that need not exist yet. What
        is put there is found again by a restart, and must make it read the same records.
        """
        return self

    def reading(self, fields: Sequence[str]) -> Source | None:
        """The source as one whose records have None in all other fields; None where it reads them in any case.

        Called where nobody looks at the others. Records that cannot be read must be found as before.
        """
        return None

    def skipping(self, conditions: Sequence[FieldCondition]) -> Source | None:
        """The source as one that may leave out records that do not fulfil all conditions; None where it cannot tell.

        Such records are dropped in any case: it is only for parts of the data that need not be read at all.
        """
        return None

    def describe(self) -> str:
        """A few words for `explain()`."""
        return type(self).__name__
