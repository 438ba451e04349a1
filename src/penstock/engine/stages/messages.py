"""What tasks tell the driver: one `Done` per task and epoch. Deterministic bytes only, for they cross shuffles."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.common.errors import FailureReport


@dataclass(frozen=True)
class ReadProgress:
    """How far a reader came in one split."""

    source: int
    split: int
    split_id: str
    position: Any
    finished: bool
    records: int
    time: Any = None
    """How far event time has come in the split: a `TimeProgress`; None where the source has no watermarks."""


@dataclass(frozen=True)
class Done:
    """A task has finished its part of the epoch and everything it names is durable."""

    stage: int
    subtask: int
    head: str | None = None
    """The newest state file of the subtask."""
    reads: tuple[ReadProgress, ...] = ()
    tokens: Mapping[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    """Sink tokens by the sink's uid."""
    sent: Mapping[str, int] = field(default_factory=dict[str, int])
    received: Mapping[str, int] = field(default_factory=dict[str, int])
    """Records per edge number (as text: JSON keys are text)."""
    operators: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """Per operator uid: records in and out, and those that were dropped as late."""
    watermarks: Mapping[str, int] = field(default_factory=dict[str, int])
    """Per operator uid: the watermark that its consumers know."""
    idle: tuple[str, ...] = ()
    """Uids of operators that make watermarks and are idle."""
    next_timer: int | None = None
    """When the earliest processing-time timer is due."""
    state_bytes: int = 0
    """What the subtask wrote in this epoch."""
    state_sizes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Per operator uid: how many entries and bytes its state has."""
    union_lists: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the subtask has saved in union lists."""

    def to_bytes(self) -> bytes:
        """The message as it travels."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode()


def done_from_bytes(data: bytes) -> Done:
    """The message again."""
    fields = json.loads(data)
    fields["reads"] = tuple(ReadProgress(**read) for read in fields["reads"])
    return Done(**fields)


def failure_to_bytes(report: FailureReport) -> bytes:
    """A failure as it travels."""
    return json.dumps(asdict(report), sort_keys=True).encode()


def failure_from_bytes(data: bytes) -> FailureReport:
    """The failure again."""
    return FailureReport(**json.loads(data))
