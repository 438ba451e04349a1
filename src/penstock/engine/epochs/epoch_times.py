"""Where the time of epochs goes, and word of it in the log where all else has to wait for long."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.logs import JobLogger
from penstock.common.slow_steps import SlowSteps


@dataclass(frozen=True)
class EpochTimes:
    """Where the time of one epoch went, in seconds."""

    number: int
    records: int
    plan: float
    run: float
    publish_wait: float
    commit: float

    @property
    def total(self) -> float:
        """The whole epoch."""
        return self.plan + self.run + self.publish_wait + self.commit


class SlowEpochs:
    """Looks at the times of epochs, one after the other."""

    def __init__(self, logger: JobLogger, location: str) -> None:
        self._steps = SlowSteps(logger)
        self._location = location

    def look_at(self, times: EpochTimes) -> None:
        """Tells what took long in the driver."""
        self._steps.took(times.plan, "it took %.1f s to ask the sources what epoch %d is to read", times.number)
        self._steps.took(
            times.commit,
            "it took %.1f s to write the manifest of epoch %d, for which all else waits: "
            "the disk or the network behind %s is slow",
            times.number,
            self._location,
        )
