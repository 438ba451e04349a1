"""Orders partitions to be followed, epoch after epoch."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.connectors.kafka.enumerator import KafkaEnumerator
from penstock.connectors.source import EpochBudget, Json, SplitRead


class KafkaLiveEnumerator(KafkaEnumerator):
    """Every partition is followed in every epoch; how far it was read is known when the epoch ends.

    What it keeps is what a `KafkaEnumerator` keeps: a job can change between epochs and pipelined mode.
    """

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:  # noqa: D102
        self._commit_offsets()
        self._discover(now)
        reads = [self._read_on(split) for split in sorted(self._present())]
        self._waiting = self._arrived(reads)
        return reads

    def advanced(self, split_id: str, position: Json, finished: bool) -> None:  # noqa: D102
        super().advanced(split_id, position, finished)
        self._state[self._offset_key(split_id)] = position["offset"]

    def _arrived(self, reads: Sequence[SplitRead]) -> int:
        """How many records there are when the epoch begins: those of a job that keeps up came since the last one."""
        ends = self._broker.latest([self._partitions[read.split_id] for read in reads])
        arrived = 0
        for read in reads:
            end = ends[self._partitions[read.split_id]]
            arrived += max(0, (end if read.end is None else min(end, read.end)) - read.start)
        return arrived

    def _read_on(self, split: str) -> SplitRead:
        partition = self._partitions[split]
        return SplitRead(
            split,
            self._state[self._offset_key(split)],
            self._stop_of(split),
            {"topic": partition.topic, "partition": partition.partition},
        )
