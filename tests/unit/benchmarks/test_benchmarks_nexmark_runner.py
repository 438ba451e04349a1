"""The runner of Nexmark: what it measures from outside, what it makes of failures, and the page that it writes."""

from __future__ import annotations

import ast
import json
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from nexmark import report
from nexmark.contenders import CONTENDERS, GOALS, PENSTOCK, PENSTOCK_RECORDS, RECORD_BY_RECORD, SHORT_LIST, goals_of
from nexmark.measure import Measurement, Run
from nexmark.run import goals_are_met
from nexmark.schema import QUERIES

PROGRAM = """
import argparse, json, subprocess, sys, time
parser = argparse.ArgumentParser()
for name in ("query", "input", "work", "result", "records-per-epoch"):
    parser.add_argument("--" + name)
arguments = parser.parse_args()
burn = "import time; text = 'x' * 30_000_000\\nwhile time.process_time() < 0.8: pass"
subprocess.run([sys.executable, "-c", burn], check=True)
samples = [[50, 2.0], [50, 1.0], [50, 0.5]]
open(arguments.result, "w").write(json.dumps({"samples": samples, "startup_seconds": 1.5, "rows": 1, "checksum": 2}))
"""

QUICK_PROGRAM = """
import json, sys
result = {"samples": [[150, 2.0]], "startup_seconds": 1.5, "rows": 1, "checksum": 2}
open(sys.argv[sys.argv.index("--result") + 1], "w").write(json.dumps(result))
"""
BROKEN_PROGRAM = QUICK_PROGRAM.replace("samples", "sample")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    directory = tmp_path / "input"
    directory.mkdir()
    (directory / "meta.json").write_text('{"events": 200, "counts": {"bids": 150}}')
    return directory


def run_of(tmp_path: Path, events: Path, program: str, checker: str = "pass", timeout: float = 60) -> Measurement:
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(program))
    run = Run("q0", [sys.executable, str(script)], events, [sys.executable, "-c", checker], timeout)
    measured = run.measure(tmp_path / "scratch")
    assert list((tmp_path / "scratch").iterdir()) == []
    return measured


def test_a_program_is_measured_with_all_its_processes(tmp_path: Path, events: Path) -> None:
    measured = run_of(tmp_path, events, PROGRAM)
    assert not measured.problem
    assert (measured.events, measured.records, measured.startup_seconds, measured.seconds) == (200, 150, 1.5, 3.5)
    assert measured.rated_seconds == 1.5
    assert measured.records_per_second == pytest.approx(100 / 1.5)  # the first third is warm-up
    assert measured.cpu_seconds > 0.4
    assert measured.peak_mb > 30
    assert measured.compared == "checksum"


def test_records_that_came_in_one_piece_have_a_rate(tmp_path: Path, events: Path) -> None:
    samples = "[[0, 2.0], [150, 0.5], [0, 0.5]]"
    measured = run_of(tmp_path, events, QUICK_PROGRAM.replace("[[150, 2.0]]", samples))
    assert measured.records_per_second == 150 / 3


def test_a_wrong_answer_is_told(tmp_path: Path, events: Path) -> None:
    measured = run_of(tmp_path, events, PROGRAM, "print('WRONG\\n3 rows missing'); raise SystemExit(1)")
    assert measured.problem == "3 rows missing\n"
    assert measured.records == 150


def test_a_program_that_fails_is_told_with_its_log(tmp_path: Path, events: Path) -> None:
    measured = run_of(tmp_path, events, "raise SystemExit('no such query')")
    assert "no such query" in measured.problem
    assert measured.records == 0


def test_a_program_that_does_not_end_is_ended(tmp_path: Path, events: Path) -> None:
    measured = run_of(tmp_path, events, "import time; time.sleep(600)", timeout=0.5)
    assert measured.problem == "not at its end after 0 s"
    assert measured.wall_seconds >= 0.5


def test_a_check_that_does_not_end_is_ended(tmp_path: Path, events: Path) -> None:
    measured = run_of(tmp_path, events, QUICK_PROGRAM, "import time; time.sleep(600)", timeout=2)
    assert measured.problem == "not at its end after 2 s"


@pytest.mark.parametrize(("program", "problem"), [("pass", "without a result"), (BROKEN_PROGRAM, "KeyError")])
def test_a_program_without_a_result_is_told(tmp_path: Path, events: Path, program: str, problem: str) -> None:
    assert problem in run_of(tmp_path, events, program).problem


def test_what_a_check_leaves_out_is_told(tmp_path: Path, events: Path) -> None:
    measured = run_of(tmp_path, events, QUICK_PROGRAM, "print('right: 3 of 9 bids')")
    assert (measured.problem, measured.remark) == ("", "3 of 9 bids")


def test_goals_and_peers_name_queries_that_there_are() -> None:
    assert set(SHORT_LIST) <= set(QUERIES)
    for goal in GOALS:
        assert set(goal.queries) <= set(QUERIES)
        assert goal.contender in CONTENDERS
    for contender in CONTENDERS.values():
        assert contender.queries, contender
        assert set(contender.queries) <= set(QUERIES)
    assert {name: goal.ratio for name, goal in goals_of("q5").items()} == {"flink_sql": 1.5, "pyflink": 5, "spark": 1.0}


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(report, "DOCS", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path / "benchmarks" / "nexmark.json")
    monkeypatch.setattr(report, "NOTES", tmp_path / "benchmarks" / "nexmark-notes.md")
    monkeypatch.setattr(report, "describe_machine", lambda: "a machine")
    monkeypatch.setattr(report, "save_figure", lambda figure, name: report.plt.close(figure))
    return tmp_path


def of_rate(rate: float, **more: Any) -> Measurement:
    values: dict[str, Any] = {"events": 1_000, "records": 920, "records_per_second": rate, "compared": "rows", **more}
    return Measurement(**values)


def test_the_page_has_ratios_goals_and_answers(docs: Path) -> None:
    report.add_results(1_000, [("q5", PENSTOCK, of_rate(300))])
    report.add_results(1_000, [("q5", "flink_sql", of_rate(100, settings="no checkpoints"))])
    report.add_results(1_000, [("q5", "spark", of_rate(600, problem="4 rows missing, the first:\n  (1, 2)"))])
    report.add_results(1_000, [("q5", "pyflink", Measurement(100, problem="ended with 1:\nsomething"))])
    report.add_results(
        1_000,
        [
            ("q7", PENSTOCK, of_rate(100, rates=(90.0, 100.0, 250.0))),
            ("q7", "flink_sql", of_rate(100, remark="3 of 9 bids")),
        ],
    )
    page = (docs / "nexmark.md").read_text()
    assert "| windows | Flink SQL (JVM) | >= 1.5 x | 1 of 2 | 1.00 x (q7) | 3.00 x | 3.00 x (q5) |" in page
    assert "| what Spark can express |" not in page  # its answer was wrong
    assert "| q5 | Flink SQL (JVM) | 100 | 3.00 x | >= 1.5 x | 0.0 s | 0 s | 0 MB | rows right |" in page
    assert "**wrong**: 4 rows missing, the first: |" in page
    assert "| q5 | PyFlink DataStream | | | | | | | failed: ended with 1: |" in page
    assert "| rows right (3 of 9 bids) |" in page
    assert "- Flink SQL (JVM): no checkpoints." in page
    assert "| q7 | Penstock | 100 (90 to 250) |" in page
    assert page.index("| q5 | Penstock") < page.index("| q7 | Penstock")
    kept = json.loads((docs / "benchmarks" / "nexmark.json").read_text())
    assert kept["runs"]["1000"]["q5"][PENSTOCK] == {**asdict(of_rate(300)), "rates": []}


def test_pyflink_is_compared_with_the_program_that_has_its_functions(docs: Path) -> None:
    rates = {PENSTOCK: 900, PENSTOCK_RECORDS: 60, "pyflink": 10, "flink_sql": 300}
    report.add_results(1_000, [("q15", name, of_rate(rate)) for name, rate in rates.items()])
    page = (docs / "nexmark.md").read_text()
    assert (
        "| the same Python functions, record by record | PyFlink DataStream | >= 5 x | 1 of 1 | 6.00 x (q15) |" in page
    )
    assert "| a Python function in it |" not in page
    assert "| q15 | PyFlink DataStream | 10 | 6.00 x | >= 5 x |" in page
    assert "| q15 | Flink SQL (JVM) | 300 | 3.00 x | >= 0.7 x |" in page
    assert goals_are_met("q15", {**rates, PENSTOCK: 300})
    assert not goals_are_met("q15", {**rates, PENSTOCK_RECORDS: 40})


@pytest.mark.parametrize("query", CONTENDERS["pyflink"].queries)
def test_a_query_has_a_goal_against_pyflink_where_its_program_has_a_python_function(query: str) -> None:
    program = ast.parse((Path(report.__file__).parent / "queries" / f"{query}.py").read_text())
    functions = [each for each in ast.walk(program) if isinstance(each, ast.FunctionDef | ast.Lambda)]
    # One of them is `results`, which makes the program.
    assert (len(functions) > 1) == ("pyflink" in goals_of(query)) or query in RECORD_BY_RECORD
