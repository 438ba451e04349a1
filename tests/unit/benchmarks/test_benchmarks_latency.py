"""The benchmark of latency: when a job falls behind, and the page that is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from latency import report
from latency.contenders import CONTENDERS
from latency.measure import falls_behind, figures_of
from latency.topics import Arrival


def arrivals(*latencies: float) -> list[Arrival]:
    return [Arrival(float(number), latency) for number, latency in enumerate(latencies)]


@pytest.mark.parametrize(
    ("latencies", "sent", "behind"),
    [
        ([20, 22, 30] * 10, 30, False),
        ([20, 22, 120] * 10, 30, False),
        ([1_200, 1_100, 1_300] * 10, 30, True),
        ([*[100] * 10, *[300] * 10, *[600] * 10], 30, True),
        ([*[10] * 10, *[20] * 10, *[40] * 10], 30, False),
        ([20, 22, 30] * 5, 30, True),
        ([], 30, True),
    ],
    ids=["keeps up", "uneven", "late", "later and later", "later, but soon", "too few", "none"],
)
def test_when_a_job_falls_behind(latencies: list[float], sent: int, behind: bool) -> None:
    come = arrivals(*latencies)
    assert falls_behind(come, figures_of(come, sent)) is behind


def test_goals_that_were_missed() -> None:
    contender = CONTENDERS["pipelined keyed"]
    assert contender.misses({"p50_ms": 60.0, "p99_ms": 499.0}) == []
    assert contender.misses({"p50_ms": 61.0, "p99_ms": 501.0}) == [
        "p50 61.0 ms, the goal is 60",
        "p99 501.0 ms, the goal is 500",
    ]


def test_the_page_keeps_the_figures_of_other_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path / "latency.json")
    monkeypatch.setattr(report, "PAGE", tmp_path / "latency.md")
    monkeypatch.setattr(report, "save_figure", lambda figure, name: None)
    monkeypatch.setattr(report, "describe_machine", lambda: "a machine")
    figures = {"p50_ms": 1.25, "p95_ms": 7.5, "p99_ms": 34.5, "max_ms": 1_234.5, "results": 10.0, "sent": 10.0}
    report.save_latency({"runs": {"pipelined stateless": figures}})
    report.save_latency({"runs": {"pyflink keyed": {**figures, "p50_ms": 40.0}}})
    report.save_latency(
        {
            "sustained": {
                "pipelined keyed": [
                    {**figures, "rate": 1_000.0, "cpu_us": 220.0, "behind": 0.0},
                    {**figures, "rate": 2_000.0, "cpu_us": 210.0, "behind": 0.0},
                    {**figures, "rate": 4_000.0, "cpu_us": 200.0, "behind": 1.0},
                ]
            }
        }
    )
    steps = [{**figures, "rate": 1_000.0, "cpu_us": 99.0, "behind": 1.0}]
    report.save_latency({"sustained": {"spark real-time stateless": steps}})
    page = (tmp_path / "latency.md").read_text()
    assert "| 1.2 ms | 7.5 ms | 34.5 ms | 1,234.5 ms | <= 2 / 250 ms |" in page
    assert "PyFlink DataStream, the keyed Python function | 40.0 ms |" in page
    assert "a keyed Python function | 2,000 records/s |" in page
    assert "Catalyst alone, the filter | less than 1,000 records/s |" in page
    assert "| pipelined keyed | 4,000 | 1.2 ms | 34.5 ms | 1,234.5 ms | 200 µs | no |" in page
