"""Where to start and to stop in each partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from penstock.common.errors import SourceError


class KafkaTopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class KafkaOffsetResetStrategy(Enum):
    """What to do where the wanted offset does not exist."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


Offsets = dict[KafkaTopicPartition, int]


class OffsetQueries(Protocol):
    """What a broker can be asked."""

    def earliest(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """The first offset that is still there."""
        ...

    def latest(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """The offset of the next record; with read_committed, of the first open transaction."""
        ...

    def at_timestamp(self, partitions: list[KafkaTopicPartition], timestamp: int) -> Offsets:
        """The offset of the first record with this timestamp or a later one; the latest where there is none."""
        ...

    def committed(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """What the consumer group has committed; partitions without are left out."""
        ...


class _Kind(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    COMMITTED = "committed"
    GIVEN = "given"


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """Where to start, or to stop; made by the functions below."""

    kind: _Kind
    timestamp_ms: int = 0
    given: Mapping[KafkaTopicPartition, int] = field(default_factory=dict[KafkaTopicPartition, int])
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first records that are still there."""
        return KafkaOffsetsInitializer(_Kind.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end of each partition as it is when the job starts."""
        return KafkaOffsetsInitializer(_Kind.LATEST)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record of each partition with this timestamp (in ms) or a later one."""
        return KafkaOffsetsInitializer(_Kind.TIMESTAMP, timestamp_ms=timestamp)

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """What the consumer group has committed; where it has nothing, what the strategy says (NONE: an error)."""
        return KafkaOffsetsInitializer(_Kind.COMMITTED, reset=offset_reset_strategy)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """The given offsets.

        A partition that is not named takes what the consumer group has committed. Where that, or the given offset,
        does not exist, the strategy decides.
        """
        return KafkaOffsetsInitializer(_Kind.GIVEN, given=dict(offsets), reset=offset_reset_strategy)

    @property
    def needs_group(self) -> bool:
        """Whether committed offsets are asked for."""
        return self.kind is _Kind.COMMITTED

    def starts(self, queries: OffsetQueries, partitions: list[KafkaTopicPartition], has_group: bool) -> Offsets:
        """The offset to start at in each partition."""
        match self.kind:
            case _Kind.COMMITTED | _Kind.GIVEN:
                wanted = {each: self.given[each] for each in partitions if each in self.given}
                others = [each for each in partitions if each not in wanted]
                if others and (has_group or self.kind is _Kind.COMMITTED):
                    wanted.update(queries.committed(others))
                return self._within_range(wanted, queries, partitions)
            case _:
                return self._known(queries, partitions)

    def stops(self, queries: OffsetQueries, partitions: list[KafkaTopicPartition]) -> Offsets:
        """The offset to stop before in each partition."""
        match self.kind:
            case _Kind.GIVEN:
                missing = [str(each) for each in partitions if each not in self.given]
                if missing:
                    raise SourceError(f"Kafka: no stopping offset is given for {', '.join(missing)}")
                return {each: self.given[each] for each in partitions}
            case _Kind.COMMITTED:
                committed = queries.committed(partitions)
                missing = [str(each) for each in partitions if each not in committed]
                if missing:
                    raise SourceError(f"Kafka: the group has committed no offset to stop at for {', '.join(missing)}")
                return committed
            case _:
                return self._known(queries, partitions)

    def _known(self, queries: OffsetQueries, partitions: list[KafkaTopicPartition]) -> Offsets:
        if self.kind is _Kind.EARLIEST:
            return queries.earliest(partitions)
        if self.kind is _Kind.LATEST:
            return queries.latest(partitions)
        return queries.at_timestamp(partitions, self.timestamp_ms)

    def _within_range(self, wanted: Offsets, queries: OffsetQueries, partitions: list[KafkaTopicPartition]) -> Offsets:
        earliest = queries.earliest(partitions)
        latest = queries.latest(partitions)
        result: Offsets = {}
        for each in partitions:
            offset = wanted.get(each)
            if offset is not None and earliest[each] <= offset <= latest[each]:
                result[each] = offset
            elif self.reset is KafkaOffsetResetStrategy.EARLIEST:
                result[each] = earliest[each]
            elif self.reset is KafkaOffsetResetStrategy.LATEST:
                result[each] = latest[each]
            else:
                found = "no offset is committed" if offset is None else f"offset {offset} does not exist"
                raise SourceError(
                    f"Kafka: {found} for {each}, which holds {earliest[each]} to {latest[each]}. Give a "
                    "KafkaOffsetResetStrategy, or other starting offsets"
                )
        return result
