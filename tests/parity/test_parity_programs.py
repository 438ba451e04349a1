"""Programs written for PyFlink give under Penstock what they give under PyFlink, as recorded in `recorded/`."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import pytest

from parity import kit

PACKAGE = "penstock"
FILES = sorted(kit.PROGRAMS.glob("*.py"))
RECORDED: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in kit.RECORDED.glob("*.json") if path.stem != "examples"
}
DIFFERENCES = {
    name: difference["reason"]
    for difference in tomllib.loads((kit.FOLDER / "declared_differences.toml").read_text())["difference"]
    for name in difference["programs"]
}
RUNS = [
    pytest.param(program, mode, id=f"{program.file}-{program.name}-{mode.lower()}")
    for path in FILES
    for program in kit.programs_of(path, PACKAGE)
    for mode in program.modes
    if program.name in RECORDED.get(path.stem, {}).get("programs", {})  # the test below names those that are missing
]


@contextmanager
def printed() -> Iterator[list[str]]:
    lines: list[str] = []
    with redirect_stdout(io.StringIO()) as output:
        yield lines
    lines += output.getvalue().splitlines()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_recording_is_of_this_version_of_the_programs(path: Any) -> None:
    recorded = RECORDED.get(path.stem, {"source": None})
    assert recorded["source"] == kit.fingerprint(path), f"run tests/parity/record.py {path.stem}"
    assert recorded["programs"].keys() == {program.name for program in kit.programs_of(path, PACKAGE)}


@pytest.mark.parametrize(("program", "mode"), RUNS)
def test_the_results_are_pyflinks(program: kit.Program, mode: str) -> None:
    ours = kit.run([program], PACKAGE, mode, {"execution.engine": "local"}, printed)[program.name]
    theirs = RECORDED[program.file]["programs"][program.name][mode]
    ours, theirs = (kit.comparable(results, order_varies=program.order_varies) for results in (ours, theirs))
    if f"{program.file}.{program.name}" in DIFFERENCES:
        assert ours != theirs, "it is the same now: take it out of declared_differences.toml"
    else:
        assert ours == theirs


def test_every_declared_difference_is_of_a_program() -> None:
    assert DIFFERENCES.keys() <= {f"{run.values[0].file}.{run.values[0].name}" for run in RUNS}
    assert all(reason.strip() for reason in DIFFERENCES.values())
