"""The benchmark of scale: the model that is fitted to its figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scale import cost_model
from scale.cost_model import fitted, once, pairs, partitions, predicted, records

STORED = Path(__file__).resolve().parents[3] / "docs" / "benchmarks" / "scale.json"


def run_of(count: int, per_epoch: int, keys: int = 100) -> dict[str, Any]:
    return {"partitions": count, "records_per_epoch": per_epoch, "keys": keys}


RUNS = [run_of(count, per_epoch) for count in (1, 2, 8, 64) for per_epoch in (100, 10_000)]


def test_terms_are_found_again() -> None:
    def cost(run: dict[str, Any]) -> float:
        return 5 + 0.25 * run["records_per_epoch"] + 3 * run["partitions"] ** 2

    costs = fitted((once, records, partitions, pairs), RUNS, cost)
    assert costs == pytest.approx([5, 0.25, 0, 3], abs=1e-6)
    assert predicted((once, records, partitions, pairs), costs, run_of(4, 1_000)) == pytest.approx(303)


def test_nothing_costs_less_than_nothing() -> None:
    costs = fitted((once, partitions), RUNS, lambda run: 100 / run["partitions"])
    assert costs[1] == 0
    assert costs[0] > 0


@pytest.fixture(scope="module")
def measured() -> list[dict[str, Any]]:
    figures = json.loads(STORED.read_text(encoding="utf-8"))
    return [run for name, runs in figures.items() if name != "rescaled" for run in runs]


def test_the_model_says_what_was_measured(measured: list[dict[str, Any]]) -> None:
    """Bytes are counted; times are those of a machine with other work."""
    for cost in cost_model.COSTS:
        costs = fitted(cost.terms, measured, cost.measured)
        bound = 0.05 if cost.unit == "bytes" else 0.7
        for run in measured:
            assert predicted(cost.terms, costs, run) == pytest.approx(cost.measured(run), rel=bound), cost.name


def test_the_drivers_time_grows_with_partitions_alone(measured: list[dict[str, Any]]) -> None:
    times = [run["driver_cpu_ms_per_epoch"] for run in measured if run["partitions"] == 4]
    assert max(run["records_per_epoch"] for run in measured) == 100 * min(run["records_per_epoch"] for run in measured)
    assert max(times) < 1.5 * min(times)


def test_the_page_has_every_run(measured: list[dict[str, Any]]) -> None:
    lines = cost_model.section(measured)
    assert sum(" / " in line for line in lines) == len(measured) + 1
