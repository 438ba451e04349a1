"""The machines of a Spark application, and how the tasks of a job are spread over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession


def executors_by_host(session: SparkSession) -> Counter[str]:
    """How many executors each machine has; none where the driver's process is the executor, too."""
    java: Any = session.sparkContext._jsc  # pyright: ignore[reportPrivateUsage]
    names = str(java.sc().getExecutorMemoryStatus().keySet().mkString(" ")).split()
    hosts = Counter(name.rpartition(":")[0] for name in names)
    # The driver is listed, too.
    hosts[str(session.sparkContext.getConf().get("spark.driver.host"))] -= 1
    return +hosts


def surplus(places: Sequence[str | None], executors: Mapping[str, int]) -> list[int]:
    """Partitions that machines give up: by where each one is, and how many executors a machine has.

    Afterwards none has more than its share, rounded up, and there is enough without a place for all that have less
    than theirs, rounded down.
    """
    count, total = len(places), sum(executors.values())
    of_host: dict[str, list[int]] = {host: [] for host in executors}
    for partition, place in enumerate(places):
        if place in of_host:
            of_host[place].append(partition)
    wanted = sum(max(0, count * number // total - len(of_host[host])) for host, number in executors.items())
    wanted -= count - sum(map(len, of_host.values()))
    given_up: list[int] = []
    while True:
        host = max(of_host, key=lambda each: (len(of_host[each]) - count * executors[each] / total, each))
        exact = count * executors[host] / total
        too_many = len(of_host[host]) >= exact + 1
        if not too_many and (len(given_up) >= wanted or len(of_host[host]) <= exact):
            return sorted(given_up)
        given_up.append(of_host[host].pop())


def spread(
    places: Sequence[str | None], executors: Mapping[str, int], others: Mapping[str, int] | None = None
) -> list[str]:
    """A machine for each, where it is as far as all machines get their share; `others` are there already.

    What has no place yet is spread in the same way over the same machines, whenever that is.
    """
    given_up = set(surplus(places, executors))
    kept = [place if place in executors and n not in given_up else None for n, place in enumerate(places)]
    counts = Counter(place for place in kept if place is not None)
    beside = others or {}

    def fullness(host: str) -> tuple[float, float, str]:
        count = counts[host] + 1
        return count / executors[host], (count + beside.get(host, 0)) / executors[host], host

    found: list[str] = []
    for place in kept:
        host = place or min(executors, key=fullness)
        counts[host] += place is None
        found.append(host)
    return found
