"""All that a file sink is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote

from penstock.common.serialization import BulkWriterFactory
from penstock.connectors.files.sink.bucket_assigner import BucketAssigner
from penstock.connectors.files.sink.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.files.sink.output_file_config import OutputFileConfig, OutputFileConfigBuilder
from penstock.connectors.files.sink.partition_commit import PartitionCommit
from penstock.connectors.files.sink.rolling_policy import OnCheckpointRollingPolicy, RollingPolicy
from penstock.connectors.sink import EpochId

HIDDEN = ".penstock"
COMPRESSION_SUFFIXES = {"gzip": ".gz", "bz2": ".bz2", "zstd": ".zst", "lz4": ".lz4"}


@dataclass(frozen=True)
class FileSinkSettings:
    """Where files are written, how, and when readers see them."""

    directory: str
    writers: BulkWriterFactory
    rolling: RollingPolicy = field(default_factory=OnCheckpointRollingPolicy)
    buckets: BucketAssigner = field(default_factory=BucketAssigner.base_path_bucket_assigner)
    names: OutputFileConfig = field(default_factory=OutputFileConfigBuilder().build)
    compression: str | None = None
    """Of lines: the whole file is compressed. Parquet, ORC and Avro compress their parts themselves."""
    compact_strategy: FileCompactStrategy | None = None
    compactor: FileCompactor | None = None
    partition_commit: PartitionCommit | None = None
    bucket_check_interval: int = 60_000

    @property
    def merges_files(self) -> bool:
        """Whether one file may be made of several staged ones."""
        return self.compact_strategy is not None or not isinstance(self.rolling, OnCheckpointRollingPolicy)

    @property
    def suffix(self) -> str:
        """What the names of files end with."""
        if self.names.part_suffix:
            return self.names.part_suffix
        return self.writers.suffix + (COMPRESSION_SUFFIXES[self.compression] if self.compression else "")

    def staging(self, uid: str, job_id: str) -> str:
        """Where all writers of a sink stage, relative to the directory."""
        return f"{HIDDEN}/staged/{quote(uid, safe='')}/{quote(job_id, safe='')}"

    def staging_of(self, uid: str, job_id: str, epoch: EpochId) -> str:
        """Where the writers of a sink stage the files of one epoch, relative to the directory."""
        return f"{self.staging(uid, job_id)}/{epoch.incarnation}-{epoch.number}"
