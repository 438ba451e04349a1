"""How long the epochs of a Penstock job took."""

from __future__ import annotations


class EpochTimes:
    """How long epochs took, with the wait for the one before to be published."""

    def __init__(self) -> None:
        self.samples: list[tuple[int, float]] = []
        self._newest = 0

    def look(self, epochs: list[dict[str, float]]) -> None:
        """Takes what `metrics()["recent_epochs"]` of the job has now; look more often than every ten epochs."""
        for epoch in epochs:
            if epoch["number"] > self._newest:
                self._newest = int(epoch["number"])
                seconds = epoch["plan"] + epoch["run"] + epoch["publish_wait"] + epoch["commit"]
                self.samples.append((int(epoch["records"]), seconds))
