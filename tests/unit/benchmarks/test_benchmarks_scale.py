"""The benchmark of scale: the model that is fitted to its figures."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from common.process_tree import children, cpu_seconds, descendants
from penstock.engine.epochs.manifest import EPOCH, TAKEOVER, Manifest
from scale import cost_model
from scale.cost_model import ON_CLUSTER, RESCALES, fitted, once, pairs, partitions, predicted, records
from scale.moved_state import moved_bytes

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
def stored() -> dict[str, list[dict[str, Any]]]:
    return json.loads(STORED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def measured(stored: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [run for name in cost_model.FITTED for run in stored[name]]


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


def test_the_page_has_every_run(stored: dict[str, list[dict[str, Any]]], measured: list[dict[str, Any]]) -> None:
    series = {
        **{name: stored[name] for name in cost_model.FITTED},
        ON_CLUSTER: [{**run_of(count, 100), "jvm_cpu_ms_per_epoch": 50 + 4 * count} for count in (1, 4, 16)],
        RESCALES: [rescaled(before, after, keys) for before, after in ((2, 4), (8, 4)) for keys in (100, 1_000)],
    }
    lines = cost_model.section(series)
    assert sum(" / " in line for line in lines) == len(measured) + 1 + 3 + 1 + 4 + 1
    assert "| CPU of the driver's JVM | 50.0 ms + 4.0 ms · *P* |" in lines
    assert "| state written anew | 36.0 bytes · *E* + 900.0 bytes · *P* |" in lines


def rescaled(before: int, after: int, keys: int) -> dict[str, Any]:
    facts = {"partitions_before": before, "entries_at_rescale": keys, "state_bytes_fetched": 0}
    return {**run_of(after, 100, keys), **facts, "state_bytes_moved": 36 * keys + 900 * after}


def test_the_state_that_moved_is_what_the_take_over_wrote(tmp_path: Path) -> None:
    for place in ("manifests", "state/1", "state/2"):
        (tmp_path / place).mkdir(parents=True)
    for number, kind, incarnation in ((8, EPOCH, 1), (9, TAKEOVER, 2), (10, EPOCH, 2)):
        manifest = Manifest(number, kind, "id", "job", incarnation, "token", None, "", plan={})
        (tmp_path / "manifests" / f"{number}.json").write_bytes(manifest.to_bytes())
    sizes = {"1/9-1-0-a": 1, "2/9-0-0-b": 2, "2/9-1-0-c": 30, "2/9-1-1-d": 400, "2/10-1-0-e": 5000, "2/90-1-0-f": 6}
    for name, size in sizes.items():
        (tmp_path / "state" / name).write_bytes(bytes(size))
    assert moved_bytes(tmp_path) == 430


def test_processes_and_what_they_have_used() -> None:
    assert os.getpid() in children(os.getppid())
    assert set(children(os.getppid())) <= set(descendants(os.getppid()))
    before = cpu_seconds(os.getpid())
    while cpu_seconds(os.getpid()) == before:
        pass
    assert children(1 << 30) == []
