"""The split table's event time: how far each split has come, which ones are silent, which ones have to wait."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.stages.messages import ReadProgress
from penstock.plan.nodes import SourceNode
from penstock.runtime.operator import MIN_WATERMARK
from penstock.runtime.timestamps_and_watermarks import TimeProgress, has_news


class SourceTimes:
    """The event time of one source's live splits: those that were found and have not finished.

    It is part of the driver's durable state. A split that has never been read is only kept in memory: it is found
    again after a restart, and its patience starts anew.
    """

    def __init__(self, node: SourceNode, strategy: WatermarkStrategy, state: DriverState, interval: int) -> None:
        self.node = node
        self.strategy = strategy
        self._interval = interval
        self._stored = state.namespace(f"split-times/{node.uid}")
        self._splits = {split: TimeProgress(**stored) for split, stored in self._stored.items()}
        self._unread: dict[str, TimeProgress] = {}
        """Found, but no consumer knows of them yet."""
        self._silence = state.namespace("silent-sources")
        # Consumers may have forgotten it: they are told again.
        self._silence.pop(node.uid, None)
        self._empty_since: int | None = None

    def found(self, splits: Iterable[str], now: int) -> None:
        """Splits that exist, with or without something to read."""
        for split in splits:
            if split not in self._splits and split not in self._unread:
                self._unread[split] = TimeProgress(quiet_since=now, asked_at=now)

    def of(self, split: str) -> TimeProgress | None:
        """How far a split has come; None where it is new."""
        return self._splits.get(split) or self._unread.get(split)

    @property
    def live(self) -> Mapping[str, TimeProgress]:
        """All splits."""
        return {**self._unread, **self._splits}

    @property
    def unread(self) -> Collection[str]:
        """Splits that no consumer knows of yet: they are told when an epoch runs, and not sooner."""
        return self._unread

    def due(self, now: int) -> list[str]:
        """Splits in which something happens now though there is nothing to read."""
        found: list[str] = []
        for split, time in self.live.items():
            tick = time.next_tick(self.strategy, self._interval)
            if tick is None or tick > now:
                continue
            patience = self.strategy.idle_timeout_ms
            is_silent = patience is not None and now - time.quiet_since >= patience
            if is_silent or has_news(self.strategy, time):
                found.append(split)
            else:
                # No epoch for a generator that has nothing to say.
                (self._splits if split in self._splits else self._unread)[split] = replace(time, asked_at=now)
        return found

    @property
    def is_silent(self) -> bool:
        """Whether the source is left out because it has had no splits for so long."""
        return self.node.uid in self._silence

    def falls_silent(self, now: int, *, reads: bool) -> bool:
        """Whether the source, which has no splits, has had none for so long that it is left out from now on."""
        if reads or self._splits or self._unread:
            self._empty_since = None
            self._silence.pop(self.node.uid, None)
            return False
        self._empty_since = now if self._empty_since is None else self._empty_since
        timeout = self.strategy.idle_timeout_ms
        if timeout is None or now - self._empty_since < timeout or self.node.uid in self._silence:
            return False
        self._silence[self.node.uid] = True
        return True

    def next_due(self) -> int | None:
        """When something happens next though there is nothing to read."""
        ticks = [time.next_tick(self.strategy, self._interval) for time in self.live.values()]
        timeout = self.strategy.idle_timeout_ms
        if self._empty_since is not None and timeout is not None and self.node.uid not in self._silence:
            ticks.append(self._empty_since + timeout)
        return min((tick for tick in ticks if tick is not None), default=None)

    def hold(self, splits: Iterable[str], now: int) -> None:
        """Splits that wait for others are not silent."""
        for split in splits:
            self._splits[split] = replace(self._splits[split], quiet_since=now)

    def committing(self, read: ReadProgress) -> None:
        """What an epoch made of a split."""
        self._unread.pop(read.split_id, None)
        if read.finished:
            self._splits.pop(read.split_id, None)
            self._stored.pop(read.split_id, None)
        elif read.time is not None:
            self._splits[read.split_id] = TimeProgress(**read.time)
            self._stored[read.split_id] = read.time

    def ended(self) -> None:
        """The source has ended."""
        self._splits.clear()
        self._unread.clear()
        self._stored.clear()
        self._silence.pop(self.node.uid, None)


def splits_to_hold(sources: Mapping[int, SourceTimes]) -> dict[int, set[str]]:
    """The splits of each source that are too far ahead of the slowest of their alignment group.

    Idle splits and such as have no watermark yet hold nobody back.
    """
    slowest: dict[str, int] = {}
    for times in sources.values():
        if times.strategy.alignment is not None:
            group = times.strategy.alignment.group
            for time in times.live.values():
                if not time.idle and time.watermark > MIN_WATERMARK:
                    slowest[group] = min(slowest.get(group, time.watermark), time.watermark)
    held: dict[int, set[str]] = {}
    for source, times in sources.items():
        alignment = times.strategy.alignment
        if alignment is None or alignment.group not in slowest:
            continue
        limit = slowest[alignment.group] + alignment.max_drift_ms
        ahead = {split for split, time in times.live.items() if time.watermark > limit}
        if ahead:
            held[source] = ahead
    return held
