"""How long a task has listened to those that send to it: silence is measured by that, not by the clock alone."""

from __future__ import annotations

_MOST_AT_ONCE_MS = 100
"""More than this is not heard between two ticks, which come more often: the task, or a sender, was at work."""


class Listening:
    """Goes no faster than the task's clock, and no faster than those of the senders, as their ticks say.

    The rows of all senders wait in one line. While a task works on some of them, others wait behind, and the clock
    goes on: that is no silence of theirs. A tick has waited in the same line; when it is taken, all that its sender had
    sent before it is taken, too.
    """

    def __init__(self, senders: int, now: int) -> None:
        """The beginning of an epoch; `now` is processing time."""
        self._said = dict.fromkeys(range(senders), 0)
        self._by_all = 0
        self._unused = 0
        self._looked_at = now
        self.ms = 0
        """How long it was so far; a task says it in its own ticks."""

    def tick(self, sender: int, ms: int) -> None:
        """A tick of a sender was taken: it has listened for so long in this epoch."""
        self._said[sender] = ms

    def ended(self, sender: int) -> None:
        """A sender has sent all that it has in this epoch."""
        self._said.pop(sender, None)

    def missed(self, now: int) -> int:
        """How much of the time that has passed since the last call was no silence, in ms, though nothing came."""
        by_all = min(self._said.values(), default=self._by_all)
        # Ticks do not come evenly: what a late one says counts for the time before it, and after it.
        self._unused = min(self._unused + by_all - self._by_all, _MOST_AT_ONCE_MS)
        self._by_all = by_all
        passed = now - self._looked_at
        self._looked_at = now
        heard = min(passed, self._unused)
        self._unused -= heard
        self.ms += heard
        return passed - heard
