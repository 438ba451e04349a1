"""One watermark of several: of the splits of a source, or of the inputs of an operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.runtime.operator import MIN_WATERMARK


@dataclass(slots=True)
class _Part:
    watermark: int = MIN_WATERMARK
    idle: bool = False


class CombinedWatermark:
    """The least watermark of the parts that are not idle; when all are, the greatest of all. It never falls.

    Unlike a channel of an `InputGate`, a part that becomes active again counts at once, however far it is behind.
    Where no part is left the watermark stays where it is.

    Methods that may raise the watermark return the new one, or None when it stays.
    """

    def __init__(self) -> None:
        self._parts: dict[int, _Part] = {}
        self.watermark = MIN_WATERMARK
        self.is_idle = False
        """Whether all parts were idle when one of them last changed."""

    def __contains__(self, part: int) -> bool:
        return part in self._parts

    def __len__(self) -> int:
        return len(self._parts)

    def watermark_of(self, part: int) -> int:
        """How far a part has come."""
        return self._parts[part].watermark

    def is_part_idle(self, part: int) -> bool:
        """Whether a part is silent."""
        return self._parts[part].idle

    def add(self, part: int) -> None:
        """Makes a part known; until it has a watermark it holds the others back."""
        self._parts.setdefault(part, _Part())

    def update(self, part: int, watermark: int) -> int | None:
        """A part's watermark; it is active from now on. A watermark behind its last is ignored."""
        state = self._parts.setdefault(part, _Part())
        cannot_matter = not state.idle and state.watermark > self.watermark
        state.idle = False
        state.watermark = max(state.watermark, watermark)
        # Beyond the combined watermark it was not the least, and is not now: sources can have very many splits.
        return None if cannot_matter else self._settle()

    def set_idle(self, part: int, idle: bool) -> int | None:
        """A part falls silent, or speaks again."""
        self._parts.setdefault(part, _Part()).idle = idle
        return self._settle()

    def start_anew(self) -> None:
        """Nothing is known of idleness: every part counts until it is said to be idle again."""
        for part in self._parts.values():
            part.idle = False
        self.is_idle = False

    def remove(self, part: int) -> int | None:
        """Forgets a part; an unknown one is no error."""
        self._parts.pop(part, None)
        return self._settle()

    def snapshot(self) -> dict[str, Any]:
        """All that `restore` needs, as JSON data; equal objects give equal data."""
        return {
            "watermark": self.watermark,
            "idle": self.is_idle,
            "parts": [[number, part.watermark, part.idle] for number, part in sorted(self._parts.items())],
        }

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> CombinedWatermark:
        """As it was when the snapshot was taken."""
        combined = cls()
        combined.watermark = snapshot["watermark"]
        combined.is_idle = snapshot["idle"]
        combined._parts = {number: _Part(*state) for number, *state in snapshot["parts"]}
        return combined

    def _settle(self) -> int | None:
        if not self._parts:
            return None
        active = [part.watermark for part in self._parts.values() if not part.idle]
        self.is_idle = not active
        candidate = min(active) if active else max(part.watermark for part in self._parts.values())
        if candidate <= self.watermark:
            return None
        self.watermark = candidate
        return candidate
