"""The page of the benchmarks: when each section was measured, and which of our programs a ratio is of."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from common import report
from common.measure import Measurement, of_rounds
from common.report import keep, save_results
from suite import FUNCTION_BY_FUNCTION, KEYED_SUM, PENSTOCK, STATELESS


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(report, "DOCS", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path / "benchmarks" / "results.json")
    monkeypatch.setattr(report, "describe_machine", lambda: "a machine")
    monkeypatch.setattr(report, "save_figure", lambda figure, name: report.plt.close(figure))
    return tmp_path / "benchmarks.md"


def rates(**records_per_second: float) -> list[dict[str, Any]]:
    return [
        {"contender": name, "records": 1_000, "records_per_second": rate, "worker_mb": 100.0}
        for name, rate in records_per_second.items()
    ]


def test_a_section_says_when_it_was_measured_where_that_was_noted(page: Path) -> None:
    results: dict[str, Any] = {STATELESS.name: rates(Penstock=100)}
    keep(results, KEYED_SUM.name, rates(Penstock=100))
    save_results(results)
    today = datetime.now(UTC).date()
    assert f"## {KEYED_SUM.title}\n\nMeasured on {today}.\n\n| program |" in page.read_text()
    assert f"## {STATELESS.title}\n\n| program |" in page.read_text()


def test_a_partial_run_leaves_the_days_of_the_other_sections(page: Path) -> None:
    results: dict[str, Any] = {STATELESS.name: rates(Penstock=100), "measured_on": {STATELESS.name: "2020-01-02"}}
    keep(results, KEYED_SUM.name, rates(Penstock=100))
    save_results(results)
    assert f"## {STATELESS.title}\n\nMeasured on 2020-01-02.\n\n" in page.read_text()
    assert report.load_results() == results


def test_a_ratio_is_that_of_the_program_that_the_goal_names(page: Path) -> None:
    loop, bytewax = (goal.contender for goal in STATELESS.goals)
    given = rates(**{PENSTOCK: 400, FUNCTION_BY_FUNCTION: 90, loop: 100, bytewax: 200})
    save_results({STATELESS.name: given})
    assert f"| {loop} | 100 | 0.90 x | >= 0.7 x |" in page.read_text()
    assert f"| {bytewax} | 200 | 2.00 x | >= 1.0 x |" in page.read_text()


def test_of_several_rounds_the_median_counts_and_the_spread_is_told(page: Path) -> None:
    runs = [Measurement(PENSTOCK, 10, rate, memory) for rate, memory in ((90.0, 5.0), (300.0, 7.0), (100.0, 6.0))]
    measured = of_rounds(runs)
    assert (measured.records_per_second, measured.worker_mb) == (100.0, 7.0)
    save_results({KEYED_SUM.name: [dataclasses.asdict(measured)]})
    assert "| Penstock | 100 (90 to 300) |" in page.read_text()


def test_the_cost_of_a_record_is_told_for_every_size_of_state(page: Path) -> None:
    sizes = [{"keys": 10_000, **rates(few=500_000)[0]}, {"keys": 1_000_000, **rates(many=400_000)[0]}]
    save_results({"state_size": sizes})
    assert "| 10,000 | 2.00 | 1.00 x | 100 MB |" in page.read_text()
    assert "| 1,000,000 | 2.50 | 1.25 x | 100 MB |" in page.read_text()
