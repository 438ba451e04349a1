"""Sources that can be followed while records come: what pipelined mode reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from penstock.common.batch import Batch
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.source import EnumeratorContext, Json, SplitEnumerator, SplitRead


class LiveReader(ABC):
    """Follows several splits at once in a task; lives between epochs."""

    broken_records: BrokenRecords | None = None
    """What could not be read; looked at after every `poll`."""
    waited = 0.0
    """How many seconds `poll` has waited for records so far: what else it takes is work."""
    most_records = 5_000
    """How many records one `poll` is to give at most. The task sets it before each: fewer where it works on them for
    long, for it is then that it looks whether the epoch is to end."""

    @abstractmethod
    def follow(self, reads: Sequence[SplitRead]) -> None:
        """Goes on with these splits, each from its `start`. A read that has an `end` ends there."""

    @abstractmethod
    def poll(self, seconds: float) -> list[tuple[int, Batch]]:
        """What has arrived, each batch with the place of its read in `follow`; waits no longer than that for it.

        Returns as soon as there is something: no waiting for a full batch.
        """

    @abstractmethod
    def position(self, place: int) -> Json:
        """Where the read at this place goes on: what the enumerator's `advanced` is told."""

    @abstractmethod
    def finished(self, place: int) -> bool:
        """Whether the read at this place has come to its `end`."""

    def has_more(self, place: int) -> bool:
        """Whether more of the read at this place may be here than `poll` has given: such a split is not silent.

        To be told without asking anybody. Where it is not, records that wait for long behind those of other splits
        come after their split was said to be idle, and may be too late.
        """
        return False

    def close(self) -> None:
        """Lets go of connections."""
        return


class LiveSource(ABC):
    """What a source has beside `Source` where it can be followed."""

    @abstractmethod
    def create_live_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        """An enumerator that orders every split in every epoch, each read without an end or with its last one.

        What it keeps in `context.state` is what the enumerator of the source keeps.
        """

    @abstractmethod
    def create_live_reader(self) -> LiveReader:
        """A new reader, called in a task."""
