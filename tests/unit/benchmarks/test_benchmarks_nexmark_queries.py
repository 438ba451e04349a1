"""Every query of Nexmark on the local engine, on a small input, against answers that DuckDB has given."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

import nexmark
from nexmark.checksums import checksum
from nexmark.contenders import RECORD_BY_RECORD
from nexmark.program import Arguments, run
from nexmark.result_rows import fingerprint, read_rows
from nexmark.schema import QUERIES
from nexmark.small_dataset import EVENTS_PER_EPOCH, SMALL_DATASET

ANSWERS = json.loads((Path(nexmark.__path__[0]) / "answers" / "small.json").read_text())


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("nexmark")
    SMALL_DATASET.write(directory)
    return directory


@pytest.fixture
def arguments(events: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arguments:
    monkeypatch.setenv("PENSTOCK_ENGINE", "local")
    return Arguments("q0", events, tmp_path, tmp_path / "result.json", records_per_epoch=EVENTS_PER_EPOCH)


@pytest.mark.parametrize("query", [query for query in QUERIES if query != "q12"])
def test_a_query_gives_the_right_rows(query: str, arguments: Arguments) -> None:
    directory = arguments.work / "rows"
    run(replace(arguments, query=query, rows=directory))
    rows = read_rows(query, directory)
    assert len(rows) == ANSWERS[query]["rows"] > 0
    assert fingerprint(query, rows) == ANSWERS[query]["fingerprint"]


@pytest.mark.parametrize("query", RECORD_BY_RECORD)
def test_functions_of_single_records_give_the_same_rows(query: str, arguments: Arguments) -> None:
    directory = arguments.work / "rows"
    run(replace(arguments, query=query, rows=directory, record_by_record=True))
    assert fingerprint(query, read_rows(query, directory)) == ANSWERS[query]["fingerprint"]


@pytest.mark.parametrize("query", ["q1", "q5", "q22"])
def test_without_rows_their_checksum_is_reported(query: str, arguments: Arguments) -> None:
    run(replace(arguments, query=query))
    result = json.loads(arguments.result.read_text())
    assert (result["rows"], result["checksum"]) == (ANSWERS[query]["rows"], ANSWERS[query]["checksum"])
    assert sum(records for records, _ in result["samples"]) == 5_520
    assert len(result["samples"]) > 1
    assert result["startup_seconds"] > 0


def test_updating_results_are_kept_to_be_compared(arguments: Arguments) -> None:
    run(replace(arguments, query="q17"))
    output = Path(json.loads(arguments.result.read_text())["output"])
    assert fingerprint("q17", read_rows("q17", output)) == ANSWERS["q17"]["fingerprint"]


def test_partitions_are_marked_complete(arguments: Arguments) -> None:
    run(replace(arguments, query="q10", rows=arguments.work / "rows"))
    partitions, marks = (
        {path.parent.relative_to(arguments.work / "rows") for path in (arguments.work / "rows").glob(f"dt=*/*/{name}")}
        for name in ("*.parquet", "_SUCCESS")
    )
    assert marks == partitions
    assert Path("dt=2015-07-15/hm=00:00") in marks


def test_the_checksum_is_that_of_the_contract() -> None:
    columns = [pa.array([3, 70_000]), pa.array(["ab", None]), pa.array([None, 1])]
    text = 2 * 128**3 + ord("a") * 128**2 + ord("b") * 128 + ord("b")
    hashes = [(1 * 3 + 2 * text + 0) % 65_521, (70_000 + 0 + 3) % 65_521]
    assert checksum(columns) == sum(h * h for h in hashes)


@pytest.mark.skipif(find_spec("duckdb") is None, reason="DuckDB is not installed: its answers are recorded")
def test_the_recorded_answers_are_those_of_duckdb(events: Path) -> None:
    from nexmark.check import Checker

    checker = Checker(events)
    for query, recorded in ANSWERS.items():
        checker.make_answer(query)
        found = (*checker.checksum(query), fingerprint(query, checker.answer_rows()))
        assert found == (recorded["rows"], recorded["checksum"], recorded["fingerprint"])


@pytest.mark.skipif(find_spec("duckdb") is None, reason="DuckDB is not installed: its answers are recorded")
@pytest.mark.parametrize("query", ["c0", "c1", "c2", "c3"])
def test_a_pattern_is_checked_a_few_rows_at_a_time(query: str, events: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nexmark import check

    monkeypatch.setattr(check, "ROWS_AT_A_TIME", 7)  # bids of a key, and matches, are in several batches
    checker = check.Checker(events)
    checker.make_answer(query)
    assert fingerprint(query, checker.answer_rows()) == ANSWERS[query]["fingerprint"]
