"""Engines by name. An engine is loaded when it is asked for, so that the local one works without Java or Spark."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from penstock.common.configuration import Configuration
from penstock.common.errors import ConfigurationError
from penstock.engine.epochs.spreading import Part, Result
from penstock.engine.epochs.stage_executor import StageExecutor
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.task_host import TaskSetup

_ENGINES = {
    "spark": ("penstock.engine.spark.engine", "SparkEngine"),
    "local": ("penstock.engine.local.engine", "LocalEngine"),
    "pipelined": ("penstock.engine.pipelined.engine", "PipelinedEngine"),
}


class Engine(Protocol):
    """Where stages run."""

    default_backend: str
    """The state backend where the program names none."""

    def __init__(self, configuration: Configuration, session: object | None) -> None: ...

    def prepare(self) -> None:
        """Starts what takes long, before the job needs it; called again, starts what has died since."""
        ...

    def create_executor(self, job: CompiledJob, setup: TaskSetup) -> StageExecutor:
        """An executor for one job."""
        ...

    def spread(self, work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """Calls a function with each of some parts, in tasks: see `Spread`."""
        ...


def engine_named(name: str, configuration: Configuration, session: object | None = None) -> Engine:
    """The engine of that name."""
    if name not in _ENGINES:
        raise ConfigurationError(f"execution.engine is {name!r}; there are: {', '.join(sorted(_ENGINES))}")
    module, class_name = _ENGINES[name]
    engine = cast("type[Engine]", getattr(importlib.import_module(module), class_name))
    return engine(configuration, session)
