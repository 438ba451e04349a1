"""Every scenario runs on both engines and in both modes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

# Spark's workers import what the scenarios define (`tests.conformance.test_...`), and what those import.
_PLACES = [str(folder) for folder in Path(__file__).parents[1:3]]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (*_PLACES, os.environ.get("PYTHONPATH"))))

ENGINES = ("local", "spark")
MODES = ("STREAMING", "BATCH")


def _combination(engine: str, mode: str) -> object:
    marks = [pytest.mark.spark] if engine == "spark" else []
    return pytest.param((engine, mode), id=f"{engine}-{mode.lower()}", marks=marks)


@pytest.fixture(params=[_combination(engine, mode) for engine in ENGINES for mode in MODES])
def engine_and_mode(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture
def mode(engine_and_mode: tuple[str, str]) -> str:
    return engine_and_mode[1]


@pytest.fixture
def env(engine_and_mode: tuple[str, str], tmp_path: Path) -> StreamExecutionEnvironment:
    """An environment with parallelism 2 on the engine and in the mode of the test's run."""
    engine, runtime_mode = engine_and_mode
    configuration = Configuration()
    configuration.set_string("execution.engine", engine)
    configuration.set_string("execution.runtime-mode", runtime_mode)
    configuration.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoint"))
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(2)
    return environment
