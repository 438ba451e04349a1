"""Small files made into large ones before readers see them."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

from penstock.common.errors import ConfigurationError, SinkError
from penstock.common.serialization import BulkWriterFactory


class FileCompactStrategyBuilder:
    """Makes a `FileCompactStrategy`."""

    def __init__(self) -> None:
        self._checkpoints = -1
        self._size_threshold = -1
        self._threads = 1

    def enable_compaction_on_checkpoint(self, num_checkpoints_before_compaction: int) -> FileCompactStrategyBuilder:
        """Compacts a bucket's files when so many epochs have passed since its first one."""
        if num_checkpoints_before_compaction <= 0:
            raise ConfigurationError(
                "enable_compaction_on_checkpoint: expected a number of epochs above 0, "
                f"got {num_checkpoints_before_compaction!r}"
            )
        self._checkpoints = num_checkpoints_before_compaction
        return self

    def set_size_threshold(self, size_threshold: int) -> FileCompactStrategyBuilder:
        """Compacts a bucket's files when they have so many bytes together."""
        self._size_threshold = size_threshold
        return self

    def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategyBuilder:
        """Takes the number for Flink's sake: each bucket's files are compacted in a task of their own."""
        if num_compact_threads <= 0:
            raise ConfigurationError(f"set_num_compact_threads: expected a number above 0, got {num_compact_threads!r}")
        self._threads = num_compact_threads
        return self

    def build(self) -> FileCompactStrategy:
        """The strategy."""
        if self._checkpoints < 0 and self._size_threshold < 0:
            raise ConfigurationError(
                "a FileCompactStrategy must know when: call enable_compaction_on_checkpoint or set_size_threshold"
            )
        return FileCompactStrategy(self._size_threshold, self._checkpoints, self._threads)


@dataclass(frozen=True)
class FileCompactStrategy:
    """When the files of a bucket are compacted: until then no reader sees them."""

    size_threshold: int = -1
    num_checkpoints_before_compaction: int = -1
    num_compact_threads: int = 1

    Builder = FileCompactStrategyBuilder

    @staticmethod
    def builder() -> FileCompactStrategyBuilder:
        """Begins one."""
        return FileCompactStrategyBuilder()

    def is_due(self, size: int, epochs: int) -> bool:
        """Whether files of so many bytes, the first of them made so many epochs ago, are compacted."""
        if 0 <= self.size_threshold <= size:
            return True
        return 0 < self.num_checkpoints_before_compaction <= epochs


class FileCompactor(ABC):
    """Makes one file of several. A class of your own has `compact`, and gives the same bytes for the same files."""

    @abstractmethod
    def compact(self, inputs: Iterable[BinaryIO], output: BinaryIO, writer_factory: BulkWriterFactory) -> None:
        """Writes what is in the files, in their order and one by one, to the new one.

        The factory makes the sink's own writers.
        """

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """One file after the other, with the delimiter between them: for lines."""
        return _Concatenation(file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """The one file as it is."""
        return _Identity()

    @staticmethod
    def record_wise_file_compactor() -> FileCompactor:
        """Reads the records and writes them anew: for Parquet, ORC, Avro and CSV with a header."""
        return _RecordWise()


@dataclass(frozen=True)
class _Concatenation(FileCompactor):
    delimiter: bytes

    def compact(self, inputs: Iterable[BinaryIO], output: BinaryIO, writer_factory: BulkWriterFactory) -> None:
        for index, file in enumerate(inputs):
            if index and self.delimiter:
                output.write(self.delimiter)
            shutil.copyfileobj(file, output, 1 << 20)


@dataclass(frozen=True)
class _Identity(FileCompactor):
    def compact(self, inputs: Iterable[BinaryIO], output: BinaryIO, writer_factory: BulkWriterFactory) -> None:
        for index, file in enumerate(inputs):
            if index:
                raise SinkError(
                    "identical_file_compactor copies one file, and there are several to compact: use "
                    "concat_file_compactor or record_wise_file_compactor"
                )
            shutil.copyfileobj(file, output, 1 << 20)


@dataclass(frozen=True)
class _RecordWise(FileCompactor):
    def compact(self, inputs: Iterable[BinaryIO], output: BinaryIO, writer_factory: BulkWriterFactory) -> None:
        writer_factory.merge(inputs, output)


CONCATENATION = FileCompactor.concat_file_compactor()
"""How the parts of a file that went on for several epochs become one."""
