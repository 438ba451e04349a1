"""Files in, files out."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Configuration, Encoder, Types
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    BROKEN_RECORD_TYPE,
    ArrowFormat,
    AvroFormat,
    BucketAssigner,
    CsvFormat,
    FileSink,
    FileSource,
    JsonLinesFormat,
    OrcFormat,
    ParquetFormat,
    PartitionCommit,
    RollingPolicy,
)
from penstock.expressions import col, concat

ROW = Types.ROW_NAMED(["card", "amount"], [Types.STRING(), Types.LONG()])
TUPLE = "f0 STRING, f1 BIGINT"
RECORDS = [(f"c{n % 11}", n) for n in range(1_000)]


class Total(NamedTuple):
    card: str
    amount: int


FORMATS = {
    "json": JsonLinesFormat,
    "csv": CsvFormat,
    "parquet": ParquetFormat,
    "orc": OrcFormat,
    "arrow": ArrowFormat,
    "avro": AvroFormat,
}


def count_by_card(env: StreamExecutionEnvironment, directory: Path, kind: str) -> Counter[tuple[str, int]]:
    """Files of a kind through a keyed operator into files of the same kind, and what these have."""
    # Written by a sink, and so already read by a source.
    first = env.from_collection(RECORDS, Types.TUPLE([Types.STRING(), Types.LONG()]))
    first.sink_to(FileSink(str(directory / "in"), kind, row_type=None if kind == "json" else ROW))
    env.execute()
    source = FileSource(str(directory / "in"), FORMATS[kind]("card STRING, amount BIGINT" if kind != "json" else TUPLE))
    fields = (lambda row: Total(row.f0, 1)) if kind == "json" else (lambda row: Total(row.card, 1))
    counts = env.from_source(source).map(fields, output_type=Total).key_by("card").sum("amount")
    counts.sink_to(FileSink(str(directory / "out"), kind))
    env.execute()
    rows = env.from_source(FileSource(str(directory / "out"), FORMATS[kind](ROW)))
    return Counter((row.card, row.amount) for row in rows.execute_and_collect())


def expected_counts(mode: str) -> Counter[tuple[str, int]]:
    sizes = Counter(card for card, _ in RECORDS)
    updates = Counter((card, n) for card, size in sizes.items() for n in range(1, size + 1))
    return Counter(sizes.items()) if mode == "BATCH" else updates


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
@pytest.mark.parametrize("kind", FORMATS)
def test_files_of_every_format_through_a_keyed_operator(tmp_path: Path, kind: str, mode: str) -> None:
    """On the local engine: what is special to a format does not depend on the engine."""
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("execution.runtime-mode", mode)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    assert count_by_card(env, tmp_path, kind) == expected_counts(mode)


def test_files_that_roll_in_buckets_that_become_complete(
    env: StreamExecutionEnvironment, tmp_path: Path, mode: str
) -> None:
    """A combined scenario: broken lines aside, JSON in, encoded text out, in files of several epochs and parts."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for part in range(2):
        lines = [json.dumps({"card": card, "amount": amount}) for card, amount in RECORDS[part::2]]
        lines.insert(7, "broken")
        with gzip.open(tmp_path / "in" / "deep" / f"{part}.json.gz", "wt") as file:
            file.write("\n".join(lines))
    broken = OutputTag("broken", BROKEN_RECORD_TYPE)
    source = (
        FileSource.for_record_stream_format(JsonLinesFormat(ROW), str(tmp_path / "in")).set_on_error(broken).build()
    )
    rows = env.from_source(source)
    sink = (
        FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.by(concat("card=", col("card"))))
        .with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=1_000))
        .with_partition_commit(PartitionCommit.by_processing_time("1 d"))
        .with_compression("gzip")
        .build()
    )
    rows.rebalance().map(lambda row: row, output_type=ROW).sink_to(sink)
    rows.get_side_output(broken).sink_to(FileSink(str(tmp_path / "broken"), "parquet"))
    env.execute()
    files = [path for path in (tmp_path / "out").glob("card=*/*") if path.name != "_SUCCESS"]
    found = Counter(
        (path.parent.name, line) for path in files for line in gzip.decompress(path.read_bytes()).decode().splitlines()
    )
    assert found == Counter((f"card={card}", f"+I[{card}, {amount}]") for card, amount in RECORDS)
    assert len(list((tmp_path / "out").glob("card=*/_SUCCESS"))) == 11
    values = [
        row["value"] for path in (tmp_path / "broken").glob("*.parquet") for row in pq.read_table(path).to_pylist()
    ]
    assert values == [b"broken"] * 2


def test_text_files_by_line(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one\ntwo\n\nlast without newline")
    lines = env.read_text_file(str(tmp_path / "lines.txt"))
    assert Counter(lines.execute_and_collect()) == Counter(["one", "two", "", "last without newline"])


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table], ids=["pandas", "arrow"])
def test_a_dataframe_is_a_stream_of_rows(env: StreamExecutionEnvironment, make: object) -> None:
    columns = {"card": [card for card, _ in RECORDS], "amount": [amount for _, amount in RECORDS]}
    rows = env.from_dataframe(make(columns)).key_by("card").map(lambda row: (row.card, row.amount))  # type: ignore[operator]
    assert Counter(rows.execute_and_collect()) == Counter(RECORDS)
