"""What a task has to know about an epoch in which records flow through all stages at once."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from penstock.engine.stages.envelope import NO_EDGE, SOURCE_SENDER, Envelope, Kind
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead

WORD_OF_TASKS = "live"
"""The directory in the checkpoint in which tasks and driver leave word for each other; nothing in it is state."""
END_OF_ROUND = Envelope(-1, NO_EDGE, -1, -1, int(Kind.TICK), b"")
"""What a task puts between rows where it has nothing more to send for now: they are not to wait for others."""


@dataclass(frozen=True)
class LiveSettings:
    """How records flow; the same in all epochs."""

    seconds: float
    """How long an epoch lasts."""
    buffer_timeout: float
    """How long, in seconds, records may wait for others on their way to the next stage."""
    tick_seconds: float = 0.05
    """How often tasks without input learn that time has passed."""


@dataclass(frozen=True, kw_only=True)
class LiveHeader(EpochHeader):
    """The header of such an epoch. `now` is when it began: tasks go by their own clocks from there."""

    live: LiveSettings
    is_first: bool = False
    """Whether tasks have worked on no epoch before this one since the job was started, or started again."""
    splits: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """The numbers of the splits that the epoch follows, by the node id of their source."""

    @property
    def directory(self) -> str:
        """Where, in the checkpoint, this attempt at the epoch and the driver leave word for each other."""
        return f"{WORD_OF_TASKS}/{self.epoch.incarnation}/{self.epoch.number}-{self.run}"

    @property
    def end_mark(self) -> str:
        """The file whose existence says that the epoch is to end now."""
        return f"{self.directory}/end"

    @property
    def orders(self) -> str:
        """The file in which tasks find this header, and what they are to read."""
        return f"{self.directory}/orders"

    def failure_mark(self, stage: int, subtask: int) -> str:
        """The file in which a task says what went wrong."""
        return f"{self.directory}/failure-{stage}-{subtask}"


@dataclass(frozen=True)
class LiveOrders:
    """What the tasks of an epoch are told, in a file: their functions were sent before it was known."""

    header: LiveHeader
    tasks: Sequence[Sequence[PlannedRead]]
    """What each task of stage 0 reads."""

    def to_bytes(self) -> bytes:
        """For the file."""
        return pickle.dumps(self)

    @staticmethod
    def from_bytes(data: bytes) -> LiveOrders:
        """Of the file: it is the driver's own, and gone with the epoch."""
        return pickle.loads(data)


def live_header(
    header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]], live: LiveSettings, *, is_first: bool = False
) -> LiveHeader:
    """The header of an epoch that follows what the tasks of stage 0 are told to read."""
    splits: dict[int, tuple[int, ...]] = {}
    for planned in (each for reads in tasks for each in reads if each.split != SOURCE_SENDER):
        splits[planned.source] = (*splits.get(planned.source, ()), planned.split)
    known = {each.name: getattr(header, each.name) for each in fields(header)}
    return LiveHeader(**known, live=live, is_first=is_first, splits=splits)
