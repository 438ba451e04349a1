"""The rows of a result in plain Python, and a fingerprint of them: for small results, where there is no DuckDB."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nexmark.schema import DECIMAL, QUERIES

Row = tuple[Any, ...]


def read_rows(query: str, directory: Path) -> list[Row]:
    """The rows of the Parquet files of a result: of an updating one, the last of each key."""
    names = [name for name, _ in QUERIES[query].result]
    key = [names.index(name) for name in QUERIES[query].key]
    rows: list[Row] = []
    for path in sorted(_visible_files(directory), key=epoch_of):
        table = pq.ParquetFile(path).read()
        for part in path.relative_to(directory).parts[:-1]:  # a partition: name=value
            name, _, value = part.partition("=")
            table = table.append_column(name, pa.array([value] * len(table), pa.string()))
        rows += zip(*(table[name].to_pylist() for name in names), strict=True)
    if not key:
        return rows
    return list({tuple(row[place] for place in key): row for row in rows}.values())


def epoch_of(path: Path) -> tuple[int, ...]:
    """The numbers in a name, in order."""
    digits = "".join(character if character.isdigit() else " " for character in path.name)
    return tuple(map(int, digits.split()))


def fingerprint(query: str, rows: Iterable[Row]) -> str:
    """The same for the same rows in any order."""
    kinds = [kind for _, kind in QUERIES[query].result]
    lines = sorted(json.dumps([_plain(value, kind) for value, kind in zip(row, kinds, strict=True)]) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _plain(value: Any, kind: str) -> Any:
    return f"{Decimal(value):.3f}" if kind == DECIMAL else value


def _visible_files(directory: Path) -> list[Path]:
    return [
        path
        for path in directory.rglob("*.parquet")
        if not any(part.startswith((".", "_")) for part in path.relative_to(directory).parts)
    ]
