"""Orders partitions to be followed, epoch after epoch."""

from __future__ import annotations

from penstock.connectors.kafka.enumerator import KafkaEnumerator
from penstock.connectors.source import EpochBudget, Json, SplitRead


class KafkaLiveEnumerator(KafkaEnumerator):
    """Every partition is followed in every epoch; how far it was read is known when the epoch ends.

    What it keeps is what a `KafkaEnumerator` keeps: a job can change between epochs and pipelined mode.
    """

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:  # noqa: D102
        self._commit_offsets()
        self._discover(now)
        return [self._read_on(split) for split in sorted(self.live_splits())]

    def advanced(self, split_id: str, position: Json, finished: bool) -> None:  # noqa: D102
        super().advanced(split_id, position, finished)
        self._state[self._offset_key(split_id)] = position["offset"]

    def lag(self) -> int | None:  # noqa: D102
        return None

    def _read_on(self, split: str) -> SplitRead:
        partition = self._partitions[split]
        return SplitRead(
            split,
            self._state[self._offset_key(split)],
            self._stop_of(split),
            {"topic": partition.topic, "partition": partition.partition},
        )
