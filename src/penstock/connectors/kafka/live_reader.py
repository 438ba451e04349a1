"""Follows partitions in a task: messages are taken as they come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from penstock.common.batch import Batch
from penstock.connectors.broken_records import FAIL, OnError
from penstock.connectors.kafka.properties import KafkaProperties
from penstock.connectors.kafka.reader import KafkaReader
from penstock.connectors.kafka.record_deserialization import KafkaRecordDeserializationSchema
from penstock.connectors.live_source import LiveReader
from penstock.connectors.source import Json, SplitRead

_JUST_SECONDS = 0.1


@dataclass
class _Followed:
    """A partition, and how far it has been read."""

    place: int
    topic: str
    partition: int
    offset: int
    end: int | None
    records: int = 0
    bytes: int = 0

    @property
    def is_finished(self) -> bool:
        return self.end is not None and self.offset >= self.end


class KafkaLiveReader(LiveReader):
    """One consumer for all partitions of a task; it is kept, with what it has fetched ahead, from epoch to epoch."""

    def __init__(
        self, properties: KafkaProperties, deserializer: KafkaRecordDeserializationSchema, on_error: OnError = FAIL
    ) -> None:
        self._reader = KafkaReader(properties, deserializer, on_error)
        self.broken_records = self._reader.broken_records
        self._followed: dict[tuple[str, int], _Followed] = {}
        self._places: list[_Followed] = []
        self._empty_at = -math.inf
        """When `poll` last found that no message waits."""

    def follow(self, reads: Sequence[SplitRead]) -> None:  # noqa: D102
        before = self._followed
        self._places = [
            _Followed(place, read.descriptor["topic"], read.descriptor["partition"], read.start, read.end)
            for place, read in enumerate(reads)
        ]
        self._followed = {(each.topic, each.partition): each for each in self._places}
        is_at = {partition: each.offset for partition, each in self._followed.items()}
        if is_at != {partition: each.offset for partition, each in before.items()}:
            self._reader.assign([(*partition, offset) for partition, offset in is_at.items()])

    def poll(self, seconds: float) -> list[tuple[int, Batch]]:  # noqa: D102
        arrived: dict[tuple[str, int], list[Any]] = {}
        is_empty = True
        for message in self._take(seconds):
            partition = message.topic(), message.partition()
            followed = self._followed.get(partition)
            is_event = message.error() is not None
            is_empty = is_empty and is_event
            if followed is None:
                continue  # fetched before the partition went to another task
            if is_event:
                self._reach_end(followed, message)
            elif not followed.is_finished:
                arrived.setdefault(partition, []).append(message)
        if is_empty:
            self._empty_at = perf_counter()
        batches: list[tuple[int, Batch]] = []
        for partition, messages in arrived.items():
            followed = self._followed[partition]
            wanted = messages if followed.end is None else [m for m in messages if m.offset() < followed.end]
            followed.records += len(wanted)
            followed.bytes += sum(map(len, wanted))
            followed.offset = max(followed.offset, messages[-1].offset() + 1)
            if wanted:
                batches += [(followed.place, batch) for batch in self._reader.deserialized(wanted)]
        return batches

    def position(self, place: int) -> Json:  # noqa: D102
        followed = self._places[place]
        offset = followed.offset if followed.end is None else min(followed.offset, followed.end)
        return {"offset": offset, "records": followed.records, "bytes": followed.bytes}

    def finished(self, place: int) -> bool:  # noqa: D102
        return self._places[place].is_finished

    def has_more(self, place: int) -> bool:  # noqa: D102
        # Messages wait in one queue for all partitions: those of one may be behind very many of another.
        followed = self._places[place]
        if followed.is_finished:
            return False
        end = self._reader.known_end(followed.topic, followed.partition)
        if end is None:
            return True
        # What an open transaction has written so far is behind the end, and does not wait for anybody here.
        was_just_empty = perf_counter() - self._empty_at < _JUST_SECONDS
        return not was_just_empty and end > followed.offset

    def close(self) -> None:  # noqa: D102
        self._followed = {}
        self._reader.close()

    def _take(self, seconds: float) -> list[Any]:
        started = perf_counter()
        first = self._reader.take(seconds, 1)
        self.waited += perf_counter() - started
        return first + self._reader.take(0, self.most_records - 1) if first and self.most_records > 1 else first

    def _reach_end(self, followed: _Followed, event: Any) -> None:
        """The partition has no more messages for now: marks of transactions, and what was aborted, do not wait."""
        if self._reader.is_end(event, event.topic(), event.partition(), followed.offset):
            followed.offset = max(followed.offset, event.offset())
