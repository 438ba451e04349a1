"""How many tasks Spark can run at the same time: those of a pipelined job need a slot each, for as long as it runs."""

from __future__ import annotations

import time
from typing import Any, cast

from pyspark.sql import SparkSession

_LOOK_SECONDS = 0.1
_PATIENCE = ("spark.scheduler.maxRegisteredResourcesWaitingTime", "30s")
"""Spark's own option for how long work waits for executors that were asked for, and its default."""


class Slots:
    """Those of a Spark application."""

    def __init__(self, session: SparkSession) -> None:
        self._context = cast("Any", session.sparkContext._jsc).sc()  # pyright: ignore[reportPrivateUsage]

    def count(self) -> int:
        """How many there are on the executors that have come so far; other work may have taken some.

        The default parallelism is something else: an option may set it to any number.
        """
        return self._context.maxNumConcurrentTasks(self._context.resourceProfileManager().defaultResourceProfile())

    def wait_for(self, needed: int) -> None:
        """Waits for executors that have not come yet, as at the start and after a loss; not for ever."""
        # In one process there is nothing to come.
        seconds = 0 if self._context.isLocal() else self._context.conf().getTimeAsSeconds(*_PATIENCE)
        deadline = time.monotonic() + seconds
        while self.count() < needed and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)


def too_few_slots(job: str, tasks: int, others: str, slots: int) -> str:
    """What is said where the tasks of a job, and others beside them, find no room among so many slots."""
    needed, taken = tasks + 2, ""
    if slots >= tasks + (1 if others else 0):
        needed, taken = slots + needed, f": other work has taken some of its {slots}"
    return (
        f"in pipelined mode all {tasks} tasks of the job '{job}'{others and f', {others},'} run at the same time, and "
        f"Spark has fewer slots free{taken}. Lower the parallelism, or give it more: spark.master local[{needed}], "
        "more executors or more cores for each (a slot need not have a core of its own where tasks mostly wait)."
    )
