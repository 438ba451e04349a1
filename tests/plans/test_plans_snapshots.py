"""Plans as people see them, against stored files. `PENSTOCK_UPDATE_SNAPSHOTS=1` writes the files anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.optimizer.pipeline import optimize
from penstock.plan.drawing import to_mermaid
from penstock.plan.explain import explain
from plans.programs import PROGRAMS

SNAPSHOTS = Path(__file__).parent / "snapshots"


def assert_matches_snapshot(name: str, text: str) -> None:
    path = SNAPSHOTS / name
    if os.environ.get("PENSTOCK_UPDATE_SNAPSHOTS") == "1":
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no snapshot {path.name}: run with PENSTOCK_UPDATE_SNAPSHOTS=1 and look at it"
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("program", PROGRAMS)
def test_explained_plan(program: str) -> None:
    plan = PROGRAMS[program]()
    parts = (
        PROGRAMS[program].__doc__,
        "== program ==",
        explain(plan),
        "== optimized ==",
        explain(optimize(plan)),
    )
    assert_matches_snapshot(f"{program}.txt", "\n".join(map(str, parts)))


@pytest.mark.parametrize("program", PROGRAMS)
def test_drawn_plan(program: str) -> None:
    assert_matches_snapshot(f"{program}.mermaid.txt", to_mermaid(optimize(PROGRAMS[program]())))


def test_every_snapshot_belongs_to_a_program() -> None:
    names = {f"{program}.{kind}" for program in PROGRAMS for kind in ("txt", "mermaid.txt")}
    assert {path.name for path in SNAPSHOTS.iterdir()} == names
