"""Where the tasks of a pipelined job run: on the machine that has their state, from one Spark job to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from penstock.engine.spark.machines import executors_by_host, spread


class Placement:
    """Remembers where tasks were."""

    def __init__(self, session: SparkSession, tasks_of_stages: Sequence[int]) -> None:
        self._session = session
        self._places: list[list[str]] = [[] for _ in tasks_of_stages]
        self._tasks_of_stages = tasks_of_stages

    def hosts(self) -> list[list[str]]:
        """A machine for each task of each stage; nothing where there are no two to choose from.

        A new driver begins with what is the same for the same machines: they may still have the state.
        """
        executors = executors_by_host(self._session)
        if executors:
            self._places = places_of_stages(self._places, self._tasks_of_stages, executors)
        return self._places if len(executors) > 1 else []


def places_of_stages(
    before: Sequence[Sequence[str]], tasks_of_stages: Sequence[int], executors: Mapping[str, int]
) -> list[list[str]]:
    """Each stage is spread by itself, for each has state; sources have none, and go where there is room.

    All tasks run at the same time: it is all of them that have to find a slot on their machine.
    """
    load: Counter[str] = Counter()
    places: list[list[str]] = []
    for stage in reversed(range(1, len(tasks_of_stages))):
        places.append(spread(before[stage] or [None] * tasks_of_stages[stage], executors, load))
        load.update(places[-1])
    sources: list[str] = []
    for _ in range(tasks_of_stages[0]):
        sources.append(min(executors, key=lambda host: ((load[host] + 1) / executors[host], host)))
        load[sources[-1]] += 1
    return [sources, *reversed(places)]
