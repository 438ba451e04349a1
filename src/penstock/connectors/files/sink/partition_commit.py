"""When a bucket is complete, and how readers hear of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.common.errors import ConfigurationError
from penstock.common.time import DurationLike, parse_duration
from penstock.connectors.files.sink.bucket_assigner import BucketAssigner

SUCCESS_FILE = "_SUCCESS"


@dataclass(frozen=True)
class PartitionCommit:
    """Puts an empty file into a bucket when no more records are expected there.

    Make one with `PartitionCommit.by_watermark()` or `.by_processing_time()`. A record that comes later all the same is
    written, and the marker is written again.
    """

    trigger: str
    delay_ms: int
    end_of: Callable[[str], int] | None
    success_file: str

    @staticmethod
    def by_watermark(
        delay: DurationLike = 0, *, end_of: Callable[[str], int] | None = None, success_file: str = SUCCESS_FILE
    ) -> PartitionCommit:
        """When the watermark has passed the end of the bucket's time, and the delay.

        Buckets of `event_time_bucket_assigner` know their end; for others `end_of` is a function from the bucket's
        path to its end in ms. Where watermarks come from the source itself, without a `WatermarkStrategy`, and nothing
        is between it and the sink but functions of single records, buckets are marked at the end of the job only.
        """
        return PartitionCommit("watermark", parse_duration(delay), end_of, success_file)

    @staticmethod
    def by_processing_time(delay: DurationLike = 0, *, success_file: str = SUCCESS_FILE) -> PartitionCommit:
        """When that much time has passed since the first record of the bucket."""
        return PartitionCommit("processing-time", parse_duration(delay), None, success_file)

    def __post_init__(self) -> None:
        if not self.success_file or "/" in self.success_file:
            raise ConfigurationError(f"a success file is a name without '/', got {self.success_file!r}")

    def check(self, buckets: BucketAssigner) -> None:
        """Refuses buckets whose end nobody knows."""
        if self.trigger == "watermark" and self.end_of is None and not buckets.knows_ends:
            raise ConfigurationError(
                "a partition commit by watermark needs to know when a bucket ends: use "
                "BucketAssigner.event_time_bucket_assigner, or pass `end_of`"
            )

    def due(self, bucket: str, created: int, buckets: BucketAssigner) -> int:
        """The time, by the trigger's clock, at which the bucket is complete."""
        if self.trigger == "processing-time":
            return created + self.delay_ms
        end = self.end_of(bucket) if self.end_of is not None else buckets.end_of(bucket)
        if end is None:
            raise ConfigurationError(f"the bucket {bucket!r} does not tell its end")
        # A watermark t says that nothing up to t is expected: the last ms of the bucket is `end - 1`.
        return end - 1 + self.delay_ms
