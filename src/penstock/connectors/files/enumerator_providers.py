"""PyFlink's names for how files are found, cut and given to readers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileEnumeratorProvider:
    """Says whether files are cut into parts that are read at the same time."""

    splits_files: bool = True

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """All files below the paths but hidden ones, cut where the format and the compression allow it."""
        return FileEnumeratorProvider(splits_files=True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """All files below the paths but hidden ones, each read as a whole."""
        return FileEnumeratorProvider(splits_files=False)


@dataclass(frozen=True)
class FileSplitAssignerProvider:
    """Says who reads what. Spark places tasks; parts of files are given to them by size, largest first."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """The one that there is."""
        return FileSplitAssignerProvider()
