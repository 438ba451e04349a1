"""Which Python the workers of a session are, also of one that was handed in."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.engine.spark.distribution import SPARK_PYTHON, ship_package


def _session(master: str, settings: dict[str, str]) -> Any:
    context = SimpleNamespace(
        master=master,
        getConf=lambda: SimpleNamespace(get=settings.get),
        applicationId=f"application on {master}",
        pythonExec="python3",
        addPyFile=lambda path: None,
    )
    return SimpleNamespace(sparkContext=context)


def _chosen(session: Any) -> str:
    ship_package(session)
    return session.sparkContext.pythonExec


@pytest.fixture(autouse=True)
def no_python_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)


def test_workers_on_this_machine_are_the_python_of_the_program() -> None:
    assert _chosen(_session("local[2]", {})) == sys.executable


def test_a_python_that_was_asked_for_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _chosen(_session("local[2]", {SPARK_PYTHON: "/opt/python"})) == "/opt/python"
    assert _chosen(_session("yarn", {SPARK_PYTHON: "./environment/bin/python"})) == "./environment/bin/python"
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    assert _chosen(_session("local[2]", {})) == "python3"


def test_workers_on_other_machines_are_what_they_were() -> None:
    assert _chosen(_session("spark://host:7077", {})) == "python3"
