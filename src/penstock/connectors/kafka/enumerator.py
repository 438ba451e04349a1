"""Decides which offsets of which partitions an epoch reads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Protocol

from penstock.common.errors import SourceError
from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition, OffsetQueries, Offsets
from penstock.connectors.kafka.properties import KafkaProperties
from penstock.connectors.record_size import RecordSize
from penstock.connectors.source import EnumeratorContext, EpochBudget, Json, SplitEnumerator, SplitRead

_log = logging.getLogger(__name__)
_OFFSET = "offset:"
_STOP = "stop:"
_LEFT = "left:"
_INITIALIZED = "initialized"
_POLL_INTERVAL_MS = 10
_SECOND_LOOK_MS = 10_000
_GATHER_MS = 30
"""For how long the first records behind a lull wait for more at most: an epoch for the first of many makes the others
wait for its end."""


class Broker(OffsetQueries, Protocol):
    """What the enumerator needs of the brokers."""

    def written(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """The offset of the next record, whatever transactions are open."""
        ...

    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Commits offsets for the consumer group."""
        ...

    def close(self) -> None:
        """Lets go of connections."""
        ...


Subscription = Callable[[], list[KafkaTopicPartition]]
"""Finds the partitions to read."""


class KafkaEnumerator(SplitEnumerator):
    """Each partition is a split; an epoch reads up to the end that the brokers name when it begins.

    State: `offset:<partition>` the next offset to read, `stop:<partition>` where a bounded source ends,
    `left:<partition>` for one that has ended because it is not subscribed to any more.
    """

    def __init__(
        self,
        broker: Broker,
        subscription: Subscription,
        properties: KafkaProperties,
        starting: KafkaOffsetsInitializer,
        stopping: KafkaOffsetsInitializer | None,
        context: EnumeratorContext,
    ) -> None:
        self._broker = broker
        self._subscription = subscription
        self._properties = properties
        self._starting = starting
        # Batch execution of a source without an end reads what is there at the start.
        self._stopping = KafkaOffsetsInitializer.latest() if stopping is None and context.bounded else stopping
        self._state = context.state
        self._record_size = RecordSize(context)
        self._next_discovery: int | None = None
        self._committed: dict[KafkaTopicPartition, int] = {}
        self._waiting = 0
        self._lull = False
        self._gathering_until: int | None = None
        self._held_back: frozenset[str] = frozenset()
        self._missing: set[str] = set()
        """Partitions that were not among those subscribed to at the last look."""
        self._left: set[str] = set()
        """Those that are not subscribed to any more, or are gone. How far they were read stays known."""
        self._partitions = {
            name.removeprefix(_OFFSET): _partition_of(name.removeprefix(_OFFSET))
            for name in self._state
            if name.startswith(_OFFSET)
        }

    @property
    def offsets(self) -> dict[KafkaTopicPartition, int]:
        """The next offset to read in every partition."""
        return {partition: self._state[_OFFSET + split] for split, partition in self._partitions.items()}

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:  # noqa: D102
        self._commit_offsets()
        self._discover(now)
        unread = {split: self._partitions[split] for split in self._present() if split not in self._held_back}
        ends = self._broker.latest(list(unread.values()))
        beyond = {split: each for split, each in unread.items() if ends[each] < self._state[_OFFSET + split]}
        if beyond:
            self._go_on_in_other_topics(beyond)
        available: dict[str, int] = {}
        for split, partition in unread.items():
            end = min(ends[partition], self._state.get(_STOP + split, ends[partition]))
            available[split] = max(0, end - self._state[_OFFSET + split])
        affordable = self._record_size.affordable(budget)
        arrived = sum(available.values())
        if arrived < affordable and self._is_gathering(now, arrived):
            self._waiting = arrived
            return []
        shares = fair_shares(available, affordable)
        self._waiting = arrived - sum(shares.values())
        return [*self._last_reads(), *(self._read(split, records) for split, records in sorted(shares.items()))]

    def live_splits(self) -> Collection[str]:  # noqa: D102
        return [split for split in self._partitions if split not in self._left and not self._is_finished(split)]

    def hold_back(self, split_ids: Collection[str]) -> None:  # noqa: D102
        self._held_back = frozenset(split_ids)

    def lag(self) -> int | None:  # noqa: D102
        return self._waiting

    def is_exhausted(self) -> bool:  # noqa: D102
        return (
            self._stopping is not None and _INITIALIZED in self._state and all(map(self._is_finished, self._partitions))
        )

    def advanced(self, split_id: str, position: Json, finished: bool) -> None:  # noqa: D102
        self._record_size.learn(position["records"], position["bytes"])

    def next_poll(self, now: int) -> int:  # noqa: D102
        return now + _POLL_INTERVAL_MS

    def close(self) -> None:  # noqa: D102
        self._broker.close()

    def _is_gathering(self, now: int, arrived: int) -> bool:
        """Whether the records that have arrived behind a lull are still becoming more."""
        if self._stopping is not None or arrived == 0:
            self._lull = arrived == 0
            return False
        if self._lull:
            self._lull, self._gathering_until = False, now + _GATHER_MS
        elif self._gathering_until is None:
            return False
        elif now >= self._gathering_until or arrived == self._waiting:
            self._gathering_until = None
            return False
        return True

    def _read(self, split: str, records: int) -> SplitRead:
        start: int = self._state[_OFFSET + split]
        end = start + records
        self._state[_OFFSET + split] = end
        partition = self._partitions[split]
        return SplitRead(
            split,
            start,
            end,
            {"topic": partition.topic, "partition": partition.partition},
            finishes=end == self._state.get(_STOP + split),
            size=records,
        )

    def _go_on_in_other_topics(self, beyond: Mapping[str, KafkaTopicPartition]) -> None:
        """Partitions that end before what comes next: a topic of the same name has taken the place of the other."""
        written = self._broker.written(list(beyond.values()))
        lost = {split: each for split, each in beyond.items() if written[each] < self._state[_OFFSET + split]}
        if not lost:
            return
        reset = self._properties.reset_when_deleted
        begins = self._broker.earliest(list(lost.values())) if reset == "earliest" else written
        for split, (topic, partition) in lost.items():
            place = (
                f"Kafka topic {topic}, partition {partition} at {self._properties.bootstrap_servers} ends at offset "
                f"{written[lost[split]]}, before {self._state[_OFFSET + split]}, which comes next: the topic was "
                "deleted and made again, or has lost records"
            )
            if reset == "error":
                raise SourceError(
                    f"{place}. To go on with what it has now set the property auto.offset.reset to earliest (or latest)"
                )
            _log.warning("%s; the job goes on at offset %d", place, begins[lost[split]])
            self._state[_OFFSET + split] = begins[lost[split]]

    def _offset_key(self, split: str) -> str:
        return _OFFSET + split

    def _stop_of(self, split: str) -> int | None:
        return self._state.get(_STOP + split)

    def _is_finished(self, split: str) -> bool:
        stop = self._stop_of(split)
        return stop is not None and self._state[_OFFSET + split] >= stop

    def _discover(self, now: int) -> None:
        is_first = _INITIALIZED not in self._state
        if not is_first and self._stopping is not None:
            return
        if self._next_discovery is not None and now < self._next_discovery:
            return
        interval = self._properties.discovery_interval_ms
        self._next_discovery = now + interval if interval > 0 else 1 << 62
        subscribed = self._subscription()
        self._leave(self._partitions.keys() - set(map(str, subscribed)), now)
        new = [each for each in subscribed if str(each) not in self._partitions]
        # Partitions that appear later are read from their beginning, wherever the others were started.
        starting = self._starting if is_first else KafkaOffsetsInitializer.earliest()
        starts = starting.starts(self._broker, new, self._properties.group_id is not None) if new else {}
        stops = self._stopping.stops(self._broker, new) if new and self._stopping is not None else {}
        for partition in new:
            split = str(partition)
            self._partitions[split] = partition
            self._state[_OFFSET + split] = starts[partition]
            if partition in stops:
                self._state[_STOP + split] = stops[partition]
        self._state[_INITIALIZED] = True

    def _present(self) -> Collection[str]:
        return [split for split in self.live_splits() if split not in self._missing]

    def _leave(self, missing: set[str], now: int) -> None:
        """A partition is left when it is missing twice in a row: a broker that has just started may not know all."""
        left = {split for split in missing if split in self._missing or _LEFT + split in self._state}
        for split in sorted(left - self._left):
            _log.warning("Kafka partition %s is not subscribed to any more, or is gone: it is not read", split)
        for split in self._partitions.keys() - missing:
            self._state.pop(_LEFT + split, None)
        self._missing, self._left = missing, left
        if missing - left:
            self._next_discovery = now + _SECOND_LOOK_MS

    def _last_reads(self) -> list[SplitRead]:
        """Partitions that are left end with nothing more to read: event time does not wait for them."""
        leaving = sorted(split for split in self._left if _LEFT + split not in self._state)
        self._state.update({_LEFT + split: True for split in leaving})
        return [replace(self._read(split, 0), finishes=True) for split in leaving]

    def _commit_offsets(self) -> None:
        """What earlier epochs have read, for monitoring: the truth is in the manifest."""
        if self._properties.group_id is None or not self._properties.commits_offsets or self._next_discovery is None:
            return
        reached = {each: offset for each, offset in self.offsets.items() if str(each) not in self._left}
        moved = {each: offset for each, offset in reached.items() if self._committed.get(each) != offset}
        if moved:
            self._broker.commit(moved)
            self._committed = reached


def fair_shares(available: Mapping[str, int], budget: int) -> dict[str, int]:
    """Divides a budget: nobody gets more than is available, and what one does not need the others share."""
    shares: dict[str, int] = {}
    waiting = sorted((count, split) for split, count in available.items() if count > 0)
    for place, (count, split) in enumerate(waiting):
        share = min(count, max(1, budget // (len(waiting) - place)))
        if budget <= 0:
            break
        shares[split] = share
        budget -= share
    return shares


def _partition_of(split: str) -> KafkaTopicPartition:
    topic, _, partition = split.rpartition("-")
    return KafkaTopicPartition(topic, int(partition))
