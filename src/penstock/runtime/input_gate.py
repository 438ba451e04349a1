"""Where the channels of an operator meet: its watermark is the least of theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK


@dataclass(slots=True)
class _Channel:
    watermark: int = MIN_WATERMARK
    idle: bool = False
    ended: bool = False
    aligned: bool = True
    """False from becoming idle until active again with a watermark that has caught up with the gate's."""
    waiting: int = MIN_WATERMARK
    """What an idle channel sent: its watermark once it is active."""

    @property
    def counts(self) -> bool:
        return self.aligned and not self.idle


class InputGate:
    """The watermarks, idleness and ends of channels, and what follows for the operator behind them.

    The watermark is the least over the channels and never falls. Idle channels are left out; one that becomes
    active again is left out until its watermark has caught up. When all channels are idle the gate is idle, and
    its watermark is the greatest of theirs: nothing that could hold it back is on its way. An ended channel holds
    nothing back, but does not speak for idle ones: the end of time (`MAX_WATERMARK`) comes when all have ended.

    Methods that may raise the watermark return the new one, or None when it stays.
    """

    def __init__(self) -> None:
        self._channels: dict[int, _Channel] = {}
        self._watermark = MIN_WATERMARK
        self._least = MAX_WATERMARK
        """The least watermark of the channels that count."""
        self._holders = 0
        """How many channels that count are at `_least`: only when none is left, all have to be looked at."""

    @property
    def watermark(self) -> int:
        """The combined watermark."""
        return self._watermark

    @property
    def is_idle(self) -> bool:
        """Whether there are channels that have not ended, and all of them are idle."""
        running = [channel for channel in self._channels.values() if not channel.ended]
        return bool(running) and all(channel.idle for channel in running)

    @property
    def is_ended(self) -> bool:
        """Whether there are channels and all have ended."""
        return bool(self._channels) and all(channel.ended for channel in self._channels.values())

    def add(self, channel: int) -> None:
        """Makes a channel known; until it sends a watermark it holds the gate's where it is."""
        if channel not in self._channels:
            self._channels[channel] = _Channel()
            self._moved(None, MIN_WATERMARK)

    def update(self, channel: int, watermark: int) -> int | None:
        """A channel sends a watermark; ignored when behind its last. An idle channel's counts once it is active."""
        state = self._state(channel)
        if state.idle:
            state.waiting = max(state.waiting, watermark)
            return None
        if watermark <= state.watermark:
            return None
        before, counted = state.watermark, state.counts
        state.watermark = watermark
        if not state.aligned:
            state.aligned = watermark >= self._watermark
            counted = False
        if state.aligned:
            self._moved(before if counted else None, watermark)
        return self._rise()

    def mark_idle(self, channel: int) -> int | None:
        """A channel says that it may send nothing for a while; an ended one cannot."""
        state = self._state(channel)
        if state.idle or state.ended:
            return None
        counted = state.counts
        state.idle, state.aligned = True, False
        if counted:
            self._moved(state.watermark, None)
        return self._rise()

    def mark_active(self, channel: int) -> int | None:
        """A channel is no longer idle."""
        state = self._state(channel)
        if not state.idle:
            return None
        state.idle = False
        state.watermark, state.waiting = max(state.watermark, state.waiting), MIN_WATERMARK
        state.aligned = state.watermark >= self._watermark
        if state.aligned:
            self._moved(None, state.watermark)
        return self._rise()

    def start_anew(self) -> None:
        """Nothing is known of idleness: every channel counts, however far it is behind, until it is idle again."""
        for state in self._channels.values():
            state.idle, state.aligned = False, True
            state.watermark, state.waiting = max(state.watermark, state.waiting), MIN_WATERMARK
        self._find_least()

    def mark_ended(self, channel: int) -> int | None:
        """A channel has come to its end."""
        state = self._state(channel)
        if state.ended:
            return None
        before = state.watermark if state.counts else None
        self._channels[channel] = _Channel(MAX_WATERMARK, ended=True)
        self._moved(before, MAX_WATERMARK)
        return self._rise()

    def snapshot(self) -> dict[str, Any]:
        """All that `restore` needs, as JSON data; equal gates give equal data."""
        return {
            "watermark": self._watermark,
            "channels": [
                [number, state.watermark, state.idle, state.ended, state.aligned, state.waiting]
                for number, state in sorted(self._channels.items())
            ],
        }

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> InputGate:
        """A gate as it was when the snapshot was taken."""
        gate = cls()
        gate._watermark = snapshot["watermark"]
        gate._channels = {number: _Channel(*state) for number, *state in snapshot["channels"]}
        gate._find_least()
        return gate

    def _state(self, channel: int) -> _Channel:
        self.add(channel)
        return self._channels[channel]

    def _moved(self, before: int | None, after: int | None) -> None:
        """Keeps the least up to date: a channel's watermark before and after; None where it does not count."""
        if after is not None and after < self._least:
            self._least, self._holders = after, 1
            return
        if after == self._least:
            self._holders += 1
        if before == self._least:
            self._holders -= 1
        if self._holders == 0:
            self._find_least()

    def _find_least(self) -> None:
        watermarks = [state.watermark for state in self._channels.values() if state.counts]
        self._least = min(watermarks, default=MAX_WATERMARK)
        self._holders = watermarks.count(self._least)

    def _rise(self) -> int | None:
        candidate = self._least if self._least < MAX_WATERMARK else self._watermark_without_holders()
        if candidate <= self._watermark:
            return None
        self._watermark = candidate
        return candidate

    def _watermark_without_holders(self) -> int:
        """Nothing that counts is before the end of time: it has come, or only what does not count is left."""
        left = [state for state in self._channels.values() if state.watermark < MAX_WATERMARK]
        if all(state.idle for state in left):
            return max(
                (state.watermark for state in left),
                default=MAX_WATERMARK if self._channels else MIN_WATERMARK,
            )
        return self._watermark
