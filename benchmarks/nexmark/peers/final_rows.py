"""The final state of a result in files: number of rows and checksum, where a program cannot tell them itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nexmark.checksums import checksum, decimal_thousandths
from nexmark.schema import DECIMAL, Columns, Query


def final_rows(directory: Path, query: Query) -> Iterator[pa.Table]:
    """The rows that count, file by file: of a result that changes, the last version of every key."""
    files = sorted(directory.rglob("*.parquet"), key=lambda path: _natural(str(path)))
    names = [name for name, _ in query.result]
    is_last = _last_versions(files, query.key) if query.key else None
    passed = 0
    for path in files:
        versions = pq.ParquetFile(path).read(columns=names)
        start, passed = passed, passed + len(versions)
        yield versions if is_last is None else versions.filter(pa.array(is_last[start:passed]))


def count_final_rows(directory: Path, query: Query) -> tuple[int, int]:
    """How many rows count, and their checksum."""
    rows = total = 0
    for counted in final_rows(directory, query):
        rows += len(counted)
        total += checksum_of(counted, query.result)
    return rows, total


def checksum_of(rows: pa.Table, columns: Columns) -> int:
    """The checksum of these rows."""
    given = ((rows[name].combine_chunks(), kind) for name, kind in columns)
    values = [decimal_thousandths(column) if kind == DECIMAL else column for column, kind in given]
    return checksum(values, by_length=True)


def _last_versions(files: list[Path], key: tuple[str, ...]) -> Any:
    """Which of all versions is the last of its key."""
    keys = pa.concat_tables([pq.ParquetFile(path).read(columns=list(key)) for path in files])
    numbered = keys.append_column("version", pa.array(np.arange(len(keys))))
    last = numbered.group_by(list(key)).aggregate([("version", "max")])["version_max"]
    is_last = np.zeros(len(keys), bool)
    is_last[last.to_numpy()] = True
    return is_last


def _natural(text: str) -> list[tuple[int, str]]:
    """A key by which numbers in names are compared as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]
