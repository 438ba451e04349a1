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
    most_records: int | None = None
    """How many records a task of stage 0 may send on before the epoch is to end; None: as many as come."""
    splits: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """The numbers of the splits that the epoch follows, by the node id of their source."""

    spark_job: str = ""
    """Which Spark job works on the epoch: it works through many."""
    turn: int = 0
    """How many epochs that job has worked on before."""

    @property
    def end_mark(self) -> str:
        """The file that says that the epoch is to end now."""
        return end_mark_of(self.spark_job, self.turn)

    @property
    def failed(self) -> str:
        """The file that says that a task has failed: its outcome tells how."""
        return failed_of(self.spark_job, self.turn)

    @property
    def orders(self) -> str:
        """The file in which tasks find this header, and what they are to read."""
        return orders_of(self.spark_job, self.turn)

    def outcome(self, stage: int, subtask: int) -> str:
        """The file in which a task says what it has done and measured, or what went wrong."""
        return outcome_of(self.spark_job, self.turn, stage, subtask)


def directory_of(spark_job: str, turn: int) -> str:
    """Where, in the checkpoint, the tasks of a Spark job and the driver leave word for each other in one epoch."""
    return f"{WORD_OF_TASKS}/{spark_job}/{turn}"


def orders_of(spark_job: str, turn: int) -> str:
    """Where the tasks of a Spark job find what to do next."""
    return f"{directory_of(spark_job, turn)}/orders"


def end_mark_of(spark_job: str, turn: int) -> str:
    """Where they find that the epoch is to end before its time."""
    return f"{directory_of(spark_job, turn)}/end"


def failed_of(spark_job: str, turn: int) -> str:
    """Where a task says that the epoch is lost."""
    return f"{directory_of(spark_job, turn)}/failed"


def outcome_of(spark_job: str, turn: int, stage: int, subtask: int) -> str:
    """Where a task says what has become of its part of the epoch."""
    return f"{directory_of(spark_job, turn)}/task-{stage}-{subtask}"


@dataclass(frozen=True)
class LiveOrders:
    """What the tasks of an epoch are told, in a file: they have been running since before it was known."""

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
    header: EpochHeader,
    tasks: Sequence[Sequence[PlannedRead]],
    live: LiveSettings,
    *,
    is_first: bool = False,
    spark_job: str = "",
    turn: int = 0,
    most_records: int | None = None,
) -> LiveHeader:
    """The header of an epoch that follows what the tasks of stage 0 are told to read."""
    splits: dict[int, tuple[int, ...]] = {}
    for planned in (each for reads in tasks for each in reads if each.split != SOURCE_SENDER):
        splits[planned.source] = (*splits.get(planned.source, ()), planned.split)
    known = {each.name: getattr(header, each.name) for each in fields(header)}
    return LiveHeader(
        **known,
        live=live,
        is_first=is_first,
        most_records=most_records,
        splits=splits,
        spark_job=spark_job,
        turn=turn,
    )
