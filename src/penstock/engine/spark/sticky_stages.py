"""Keeps the subtasks of a job on the machines that have their state.

Spark places a task that reads a shuffle wherever a slot is free. It does look for partitions that are cached among all
that a task depends on, and prefers the machine that has them. So each exchange is joined, partition by partition, with
an *anchor*: a tiny cached table whose partition i lies where subtask i is to run. Its rows are filtered out again.

A machine that is lost takes its partitions of the anchor along: they are made again wherever the tasks run then, and
stay there. When machines are added, the fuller ones give partitions up. Only those move, and their state with them.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from penstock.engine.spark.machines import executors_by_host, surplus
from penstock.engine.spark.revival import is_alive
from penstock.engine.stages.envelope import ENVELOPE_DDL

_log = logging.getLogger(__name__)

_TRIES = 10
_REMOVED_SECONDS = 2.0
_SEED = 42
_MASK = 0xFFFFFFFF
_numbers = itertools.count()
_COLUMNS = [column.split() for column in ENVELOPE_DDL.split(", ")]


class _UnknownSparkError(Exception):
    """Spark is not as it is expected to be."""


class StickyStages:
    """The exchanges of one job."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._java: Any = session.sparkContext._jsc  # pyright: ignore[reportPrivateUsage]
        self._anchors: dict[int, _Anchor] = {}
        self._hosts: Counter[str] = Counter()
        self._tries = 0
        """How many more epochs look whether all machines have their share."""
        self._is_off = str(session.sparkContext.master).partition("[")[0] == "local"

    def begin_epoch(self, partitions: Iterable[int]) -> None:
        """Looks which machines there are, makes anchors for stages of so many tasks, and levels them out."""
        if self._is_off:
            return
        try:
            self._place(partitions)
        except (Py4JError, _UnknownSparkError) as error:
            if not is_alive(self._session):
                raise
            # It is a matter of speed: what it needs of Spark's inner parts may be different in another version.
            self._is_off = True
            self._anchors.clear()
            _log.warning("subtasks do not stay on their machines: %s", error)

    def exchange(self, frame: DataFrame, partitions: int) -> DataFrame:
        """The rows of a stage, each in the partition that its target says."""
        anchor = self._anchors.get(partitions)
        return frame.repartitionById(partitions, "target") if anchor is None else anchor.attach(frame)

    def _place(self, partitions: Iterable[int]) -> None:
        hosts = executors_by_host(self._session)
        is_new = False
        if len(hosts) > 1:
            for count in partitions:
                if count not in self._anchors:
                    self._anchors[count] = _Anchor(self._session, self._java, count)
                    is_new = True
        if hosts != self._hosts or is_new:
            self._hosts = hosts
            self._tries = _TRIES
        if self._tries:
            # What is given up may find no other place at once: chance decides, until all have their share.
            given_up = sum(anchor.level_out(hosts) for anchor in self._anchors.values())
            self._tries = self._tries - 1 if given_up else 0

    def close(self) -> None:
        """Lets go of what is cached."""
        for anchor in self._anchors.values():
            anchor.remove()
        self._anchors.clear()


class _Anchor:
    """A cached table with as many partitions as a stage has tasks."""

    def __init__(self, session: SparkSession, java: Any, partitions: int) -> None:
        self._java = java
        self._jvm: Any = session.sparkContext._jvm  # pyright: ignore[reportPrivateUsage]
        self._partitions = partitions
        self._route = f"array({', '.join(map(str, routes(partitions)))})[pmod(target, {partitions})]"
        # Spark caches equal tables once, for all sessions: what is another job's must not be ours, and go with it.
        contents = {"target": "id", "seq": str(next(_numbers))}
        row = [f"cast({contents.get(name, 'null')} as {kind}) as {name}" for name, kind in _COLUMNS]
        self._table = self._exchanged(session.range(0, partitions, 1, 1).selectExpr(*row)).persist()
        places = self._table.selectExpr("target", "spark_partition_id() as place").collect()
        java_table: Any = self._table._jdf  # pyright: ignore[reportPrivateUsage]
        self._id = int(java_table.queryExecution().withCachedData().cacheBuilder().cachedColumnBuffers().id())
        if sorted((row.target, row.place) for row in places) != [(n, n) for n in range(partitions)]:
            raise _UnknownSparkError("this version of Spark spreads rows in another way than Penstock expects")
        self._no_rows = self._table.where("edge is not null")

    def attach(self, frame: DataFrame) -> DataFrame:
        """Rows spread by their targets, on the machines of the anchor."""
        return self._exchanged(frame).union(self._no_rows)

    def level_out(self, hosts: Counter[str]) -> int:
        """Takes partitions away from machines that have more than their share, and says how many.

        Tasks without one go where slots are.
        """
        managers = self._block_managers()
        given_up = surplus([self._host_of(managers, partition) for partition in range(self._partitions)], hosts)
        for partition in given_up:
            managers.removeBlock(self._block(partition))
        deadline = time.monotonic() + _REMOVED_SECONDS
        # Executors tell when it is gone; the epoch's job must not still find it there.
        for partition in given_up:
            while not managers.getLocations(self._block(partition)).isEmpty() and time.monotonic() < deadline:
                time.sleep(0.01)
        return len(given_up)

    def remove(self) -> None:
        """Removes it from all machines."""
        self._table.unpersist()

    def _exchanged(self, frame: DataFrame) -> DataFrame:
        # Only of tables that are spread by a hash does Spark know that their partitions belong together.
        return frame.repartition(self._partitions, expr(self._route))

    def _host_of(self, managers: Any, partition: int) -> str | None:
        # Not what the scheduler knows: that is of the beginning of the last job.
        locations = managers.getLocations(self._block(partition))
        return None if locations.isEmpty() else str(locations.head().host())

    def _block_managers(self) -> Any:
        # By their fields: py4j cannot look at the methods of these classes, which name classes that are not there.
        manager = self._field("org.apache.spark.SparkEnv", "blockManager", self._java.sc().env())
        return self._field("org.apache.spark.storage.BlockManager", "master", manager)

    def _field(self, class_name: str, name: str, of: Any) -> Any:
        field = self._jvm.java.lang.Class.forName(class_name).getDeclaredField(name)
        field.setAccessible(True)
        return field.get(of)

    def _block(self, partition: int) -> Any:
        return self._jvm.org.apache.spark.storage.RDDBlockId(self._id, partition)


def routes(partitions: int) -> list[int]:
    """For each partition a number that Spark's hash sends there."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < partitions:
        found.setdefault(_hash(number) % partitions, number)
        number += 1
    return [found[partition] for partition in range(partitions)]


def _hash(number: int) -> int:
    """Spark's hash of an int: Murmur3, 32 bits, as a signed number."""
    mixed = _rotated(number * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    value = (_rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    value ^= 4
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    value ^= value >> 16
    return value - (1 << 32) if value >> 31 else value


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _MASK
