"""How long each operator of a chain works."""

from __future__ import annotations

from time import perf_counter


class OperatorTimes:
    """A stopwatch for operators that call each other: while one works for another, only the first one's time runs."""

    __slots__ = ("_entered", "_running", "_since")

    def __init__(self) -> None:
        self._running: list[str] = []
        self._since = 0.0
        self._entered: dict[str, float] = {}

    def enter(self, uid: str) -> None:
        """An operator begins to work."""
        self._charge()
        self._running.append(uid)

    def leave(self) -> None:
        """The operator that began last is done."""
        self._charge()
        self._running.pop()

    def add(self, uid: str, seconds: float) -> None:
        """An operator has worked so long, as others have found."""
        self._entered[uid] = self._entered.get(uid, 0.0) + seconds

    def take(self) -> dict[str, float]:
        """The ms of every operator since the last call."""
        taken, self._entered = self._entered, {}
        self._running.clear()
        return {uid: seconds * 1000 for uid, seconds in taken.items()}

    def _charge(self) -> None:
        now = perf_counter()
        if self._running:
            self.add(self._running[-1], now - self._since)
        self._since = now
