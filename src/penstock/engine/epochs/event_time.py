"""How far event time has come everywhere in a job: what its metrics and `why_not_fired` are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.engine.stages.messages import Done
from penstock.runtime.operator import MIN_WATERMARK
from penstock.runtime.timestamps_and_watermarks import TimeProgress


@dataclass(frozen=True)
class EventTime:
    """As of the newest epoch."""

    subtasks: Mapping[str, Mapping[int, int]] = field(default_factory=dict[str, Mapping[int, int]])
    """By operator uid and subtask: the watermark that its consumers know."""
    idle: frozenset[tuple[str, int]] = frozenset()
    """Operator uid and subtask of those that make watermarks and are idle."""
    splits: Mapping[str, Mapping[str, TimeProgress]] = field(default_factory=dict[str, Mapping[str, TimeProgress]])
    """By source uid and split, for sources with a watermark strategy that have not ended."""
    ended_sources: frozenset[str] = frozenset()
    """The uids of sources that have come to their end."""
    silent_sources: frozenset[str] = frozenset()
    """The uids of sources that have had no splits for as long as their idleness says."""
    now: int = 0

    def of_operator(self, uid: str) -> int | None:
        """The least watermark of an operator's subtasks, or of a source's splits; None: none yet.

        Idle splits are left out; where all are idle it is the greatest of theirs, as consumers know it.
        """
        if uid not in self.splits:
            return shown(min(self.subtasks.get(uid, {}).values(), default=MIN_WATERMARK))
        splits = self.splits[uid].values()
        active = [time.watermark for time in splits if not time.idle]
        return shown(min(active) if active else max((time.watermark for time in splits), default=MIN_WATERMARK))

    def to_json(self) -> dict[str, Any]:
        """As the job's metrics show it."""
        return {
            "watermarks": {uid: self.of_operator(uid) for uid in sorted({*self.subtasks, *self.splits})},
            "splits": {
                uid: {
                    split: {"watermark": shown(time.watermark), "idle": time.idle, "quiet_since": time.quiet_since}
                    for split, time in sorted(of_source.items())
                }
                for uid, of_source in self.splits.items()
            },
        }


def shown(watermark: int) -> int | None:
    """None for a watermark that there is not yet."""
    return None if watermark == MIN_WATERMARK else watermark


def watermarks_of(done: Iterable[Done]) -> dict[str, dict[int, int]]:
    """What subtasks reported, by operator uid and subtask."""
    found: dict[str, dict[int, int]] = {}
    for message in done:
        for uid, watermark in message.watermarks.items():
            found.setdefault(uid, {})[message.subtask] = watermark
    return found
