"""Files in, files out."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    CsvFormat,
    FileFormat,
    FileSink,
    FileSource,
    JsonLinesFormat,
    ParquetFormat,
)

ROW = Types.ROW_NAMED(["card", "amount"], [Types.STRING(), Types.LONG()])
RECORDS = [(f"c{n % 11}", n) for n in range(1_000)]


class Total(NamedTuple):
    card: str
    amount: int


def write_input(directory: Path, kind: str) -> FileFormat:
    directory.mkdir()
    for part in range(3):
        records = RECORDS[part::3]
        path = directory / f"part{part}.{kind}"
        if kind == "json":
            path.write_text("".join(json.dumps({"card": card, "amount": amount}) + "\n" for card, amount in records))
        elif kind == "csv":
            path.write_text("".join(f"{card},{amount}\n" for card, amount in records))
        else:
            cards, amounts = zip(*records, strict=True)
            pq.write_table(pa.table({"card": cards, "amount": amounts}), path)
    return {"json": JsonLinesFormat(ROW), "csv": CsvFormat(ROW), "parquet": ParquetFormat(ROW)}[kind]


def read_output(directory: Path, kind: str) -> Counter[tuple[str, int]]:
    results: Counter[tuple[str, int]] = Counter()
    for path in directory.glob(f"*.{kind}"):
        if kind == "json":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            results.update((row["card"], row["amount"]) for row in rows)
        elif kind == "csv":
            with path.open(newline="") as file:
                results.update((card, int(amount)) for card, amount in csv.reader(file))
        else:
            results.update((row["card"], row["amount"]) for row in pq.read_table(path).to_pylist())
    return results


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_files_through_a_keyed_operator_into_files(
    env: StreamExecutionEnvironment, tmp_path: Path, kind: str, mode: str
) -> None:
    file_format = write_input(tmp_path / "in", kind)
    source = FileSource(str(tmp_path / "in"), file_format)
    counts = env.from_source(source).map(lambda row: Total(row.card, 1), output_type=Total).key_by("card").sum("amount")
    counts.sink_to(FileSink(str(tmp_path / "out"), kind))
    env.execute()
    sizes = Counter(card for card, _ in RECORDS)
    updates = Counter((card, n) for card, size in sizes.items() for n in range(1, size + 1))
    assert read_output(tmp_path / "out", kind) == (Counter(sizes.items()) if mode == "BATCH" else updates)


def test_text_files_by_line(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one\ntwo\n\nlast without newline")
    lines = env.read_text_file(str(tmp_path / "lines.txt"))
    assert Counter(lines.execute_and_collect()) == Counter(["one", "two", "", "last without newline"])


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table], ids=["pandas", "arrow"])
def test_a_dataframe_is_a_stream_of_rows(env: StreamExecutionEnvironment, make: object) -> None:
    columns = {"card": [card for card, _ in RECORDS], "amount": [amount for _, amount in RECORDS]}
    rows = env.from_dataframe(make(columns)).key_by("card").map(lambda row: (row.card, row.amount))  # type: ignore[operator]
    assert Counter(rows.execute_and_collect()) == Counter(RECORDS)
