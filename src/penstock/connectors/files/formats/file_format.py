"""The contract of a file format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from penstock.common.batch import Batch
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.broken_records import FAIL, BrokenRecords
from penstock.connectors.files.chunk import FileChunk
from penstock.connectors.source import FieldCondition


class FileFormat(ABC):
    """Reads the records of chunks of files. Instances are pickled to the tasks."""

    @property
    @abstractmethod
    def produced_type(self) -> TypeInformation:
        """The type of the records."""

    @property
    @abstractmethod
    def is_splittable(self) -> bool:
        """Whether a file may be cut into byte ranges that are read apart."""

    def read(self, chunk: FileChunk, broken: BrokenRecords | None = None) -> Iterator[Batch]:
        """The records that belong to the chunk, in their order.

        Raises `SourceError` for what it cannot read, or gives it to `broken` where single records can be left out.
        """
        yield from self.read_records(chunk, BrokenRecords(FAIL) if broken is None else broken)

    @abstractmethod
    def read_records(self, chunk: FileChunk, broken: BrokenRecords) -> Iterator[Batch]:
        """What `read` gives."""

    @abstractmethod
    def bytes_per_record(self, path: str) -> float | None:
        """An estimate from a look at the file; None when it has no records or nothing can be told."""

    def reading(self, fields: Sequence[str]) -> FileFormat | None:
        """The format whose records have None in all other fields; None where all have to be read in any case."""
        return None

    def skipping(self, conditions: Sequence[FieldCondition]) -> FileFormat | None:
        """The format of which parts are left out that have no record that fulfils all conditions; None: it cannot."""
        return None

    def for_files(self, paths: Sequence[str]) -> FileFormat:
        """The format for these files: itself, or one that has learnt their schema. Called where the source is made."""
        return self


class BulkFormat(FileFormat):
    """A format whose files are read in parts of many records: Parquet, ORC, Arrow."""
