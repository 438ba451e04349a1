"""What the Nexmark peers share in plain Python: how input is cut, results are folded and rates told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nexmark
from nexmark.checksums import checksum
from nexmark.peers import flink_queries, spark_queries
from nexmark.peers.arguments import Arguments
from nexmark.peers.final_rows import count_final_rows
from nexmark.peers.flink_input import READERS, one_file_per_reader
from nexmark.peers.flink_progress import Progress
from nexmark.peers.python_functions import (
    PLACES,
    add_price,
    channel_id_of,
    day_of,
    minute_of,
    part_of_day,
    place_among,
)
from nexmark.peers.spark_input import FILES_PER_EPOCH, LONG_AFTER_MS, slice_input
from nexmark.peers.spark_streaming import samples_of
from nexmark.schema import QUERIES
from nexmark.small_dataset import EVENTS_PER_EPOCH, SMALL_DATASET

PEERS = Path(nexmark.__path__[0]) / "peers"


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("nexmark")
    SMALL_DATASET.write(directory)
    return directory


@pytest.fixture
def arguments(events: Path, tmp_path: Path) -> Arguments:
    return Arguments("q3", events, tmp_path, tmp_path / "result.json", None, EVENTS_PER_EPOCH)


def rows_of(paths: list[Path]) -> pa.Table:
    return pa.concat_tables([pq.read_table(path) for path in paths])


def test_each_peer_has_a_program_for_every_query_that_it_declares() -> None:
    declared = json.loads((PEERS / "queries.json").read_text())
    assert set(declared["flink_sql"]) == set(flink_queries.QUERIES)
    assert set(declared["spark"]) == set(spark_queries.QUERIES)
    assert set().union(*declared.values()) <= set(QUERIES)


def test_spark_reads_all_rows_in_order_and_tables_keep_pace(arguments: Arguments) -> None:
    # 480 persons and auctions, of which 100 are an epoch.
    sliced = slice_input(replace(arguments, records_per_epoch=100), end_time=False)
    persons, auctions = (sorted((sliced.directory / table).iterdir()) for table in ("persons", "auctions"))
    assert len(persons) == len(auctions) == 5 * FILES_PER_EPOCH
    assert rows_of(persons).equals(rows_of(arguments.files_of("persons")))
    assert rows_of(auctions).equals(rows_of(arguments.files_of("auctions")))
    assert [path.stat().st_mtime for path in persons] == sorted(path.stat().st_mtime for path in persons)
    for number, (person, auction) in enumerate(zip(persons, auctions, strict=True)):
        for path in (person, auction):
            numbers = pq.read_table(path)["seq"].to_pylist()
            assert all(number * 600 <= seq < (number + 1) * 600 for seq in numbers)


def test_spark_gets_a_last_row_that_ends_time(arguments: Arguments) -> None:
    sliced = slice_input(arguments, end_time=True)
    *_, last = sorted((sliced.directory / "auctions").iterdir())
    auctions = rows_of(arguments.files_of("auctions"))
    rows = pq.read_table(last).to_pylist()
    assert [row["dateTime"] for row in rows] == [max(auctions["dateTime"].to_pylist()) + LONG_AFTER_MS]
    durations = [row["expires"] - row["dateTime"] for row in auctions.to_pylist()]
    assert sliced.longest_auction_ms == max(durations)


def test_flink_has_a_file_for_each_reader_in_the_order_of_time(arguments: Arguments) -> None:
    files = arguments.files_of("bids")
    directory = one_file_per_reader(files, arguments.work / "bids")
    parts = [pq.read_table(path) for path in sorted(directory.iterdir())]
    assert len(parts) == READERS
    assert all(part["seq"].to_pylist() == sorted(part["seq"].to_pylist()) for part in parts)
    assert pa.concat_tables(parts).sort_by("seq").equals(rows_of(files))


@pytest.mark.parametrize(("query", "expected"), [("q4", [(10, 7), (11, 6)]), ("q2", [(10, 5), (11, 6), (10, 7)])])
def test_of_a_changing_result_the_last_versions_count(
    query: str, expected: list[tuple[int, int]], tmp_path: Path
) -> None:
    names = [name for name, _ in QUERIES[query].result]
    for epoch, rows in ((2, [(10, 5), (11, 6)]), (10, [(10, 7)])):
        # In the order of their numbers, not of their names.
        (tmp_path / f"epoch-{epoch}").mkdir()
        table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
        pq.write_table(table, tmp_path / f"epoch-{epoch}" / "part.parquet")
    columns = [pa.array(values) for values in zip(*expected, strict=True)]
    assert count_final_rows(tmp_path, QUERIES[query]) == (len(expected), checksum(columns, by_length=True))


def progress_of(rows: int, milliseconds: int, readers: int = 1) -> dict[str, Any]:
    sources = [{"description": "bids", "numInputRows": rows}] * readers
    return {"sources": sources, "durationMs": {"triggerExecution": milliseconds}}


def test_a_table_that_spark_joins_to_itself_is_counted_once() -> None:
    batch = progress_of(50, 500, readers=2)
    assert samples_of([batch, batch], 100) == [(50, 0.5), (50, 0.5)]


def test_time_behind_the_last_record_belongs_to_the_last_records() -> None:
    batches = [progress_of(60, 500), progress_of(40, 400), progress_of(1, 300), progress_of(0, 200)]
    assert samples_of(batches, 100) == [(60, 0.5), (40, pytest.approx(0.9))]


def test_pieces_of_a_flink_job_add_up_to_all_records() -> None:
    progress = Progress(0, "job")
    progress.began = 10.0
    progress._readings = [(10.5, 40), (11.0, 40), (12.0, 90), (12.5, 100)]
    assert progress.samples(100, 13.0) == [(40, 0.5), (50, 1.5), (10, 1.0)]


def test_functions_of_the_python_programs() -> None:
    time = 1_436_918_393_137
    assert (day_of(time), minute_of(time), part_of_day(time)) == ("2015-07-14", "23:59", "nightTime")
    assert [part_of_day(hour * 3_600_000) for hour in (6, 7, 8, 18, 19, 20)] == [
        "nightTime",
        "otherTime",
        "dayTime",
        "dayTime",
        "otherTime",
        "nightTime",
    ]
    assert channel_id_of("Apple", "x") == "0"
    assert channel_id_of("channel-1", "https://a/b?query=1&channel_id=77") == "77"
    assert channel_id_of("channel-1", "https://a/b?query=1") is None
    assert add_price(add_price(None, 10_000), 5) == (2, 1, 1, 0, 5, 10_000, 10_005)


def test_the_best_keep_their_order_and_their_number() -> None:
    best: list[tuple[tuple[int, int], str]] = []
    for seq, price in enumerate([5, 9, 5, 7, *[1] * PLACES]):
        place = place_among(best, (price, -seq))
        if place is not None:
            best = [*best[:place], ((price, -seq), ""), *best[place : PLACES - 1]]
    assert [rank for rank, _ in best][:5] == [(9, -1), (7, -3), (5, 0), (5, -2), (1, -4)]
    assert len(best) == PLACES
    assert place_among(best, (1, -99)) is None
