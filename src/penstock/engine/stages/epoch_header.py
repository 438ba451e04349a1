"""What a task has to know about the epoch it works in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.sink import EpochId
from penstock.connectors.source import EpochBudget, SplitRead
from penstock.state.operator_state import UnionLists


@dataclass(frozen=True)
class PlannedRead:
    """A read that the driver ordered: which source, which channel, what of it."""

    source: int
    split: int
    """The split's number in the job: the sender number of its channels."""
    split_id: str
    read: SplitRead | None
    """None where there is nothing to read: the split is only asked how far event time has come in it."""
    time: Any = None
    """What the split's last epoch left of its event time: a `TimeProgress`; None where the source has no watermarks."""

    @property
    def size(self) -> int:
        """What the read costs, for spreading reads over tasks."""
        return 0 if self.read is None else self.read.size


@dataclass(frozen=True)
class EpochHeader:
    """The epoch's identity and times; small, however much the epoch reads.

    `run` is raised after every failed attempt at an epoch: what tasks keep in memory is reused only within a run of one
    driver.
    """

    job_id: str
    epoch: EpochId
    run: int
    now: int
    index: str | None
    """Where the parent manifest's index of state heads is; None when there is no state yet."""
    ended_sources: tuple[int, ...]
    """Sources that end with this epoch, by node id."""
    budget: EpochBudget
    bounded: bool
    """Batch execution: one epoch reads everything, state is not kept."""
    union_lists: UnionLists = field(default_factory=dict[str, Sequence[str]])
    """What all subtasks have saved in union lists."""
    driver: str = ""
    """Which driver it is: a job may be started again, with another program, while its workers live."""

    def staging(self, stage: int, subtask: int, kind: str) -> str:
        """The beginning of the names of what a task stages, e.g. `state/1/42-1-0`."""
        return f"{kind}/{self.epoch.incarnation}/{self.epoch.number}-{stage}-{subtask}"
