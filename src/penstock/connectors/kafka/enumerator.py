"""Decides which offsets of which partitions an epoch reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition, OffsetQueries
from penstock.connectors.kafka.properties import KafkaProperties
from penstock.connectors.record_size import RecordSize
from penstock.connectors.source import EnumeratorContext, EpochBudget, Json, SplitEnumerator, SplitRead

_OFFSET = "offset:"
_STOP = "stop:"
_INITIALIZED = "initialized"
_POLL_INTERVAL_MS = 10
_GATHER_MS = 30
"""For how long the first records behind a lull wait for more at most: an epoch for the first of many makes the others
wait for its end."""


class Broker(OffsetQueries, Protocol):
    """What the enumerator needs of the brokers."""

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

    State: `offset:<partition>` the next offset to read, `stop:<partition>` where a bounded source ends.
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
        unread = {split: self._partitions[split] for split in self.live_splits() if split not in self._held_back}
        ends = self._broker.latest(list(unread.values()))
        available: dict[str, int] = {}
        for split, partition in unread.items():
            end = min(ends[partition], self._state.get(_STOP + split, ends[partition]))
            available[split] = end - self._state[_OFFSET + split]
        affordable = self._record_size.affordable(budget)
        arrived = sum(available.values())
        if arrived < affordable and self._is_gathering(now, arrived):
            self._waiting = arrived
            return []
        shares = fair_shares(available, affordable)
        self._waiting = arrived - sum(shares.values())
        return [self._read(split, records) for split, records in sorted(shares.items())]

    def live_splits(self) -> Collection[str]:  # noqa: D102
        return [split for split in self._partitions if not self._is_finished(split)]

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
        new = [each for each in self._subscription() if str(each) not in self._partitions]
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

    def _commit_offsets(self) -> None:
        """What earlier epochs have read, for monitoring: the truth is in the manifest."""
        if self._properties.group_id is None or not self._properties.commits_offsets:
            return
        reached = self.offsets
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
