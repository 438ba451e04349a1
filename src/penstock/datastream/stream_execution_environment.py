"""Where a program begins and ends: it makes streams from sources, and runs the job."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.common.execution_mode import RuntimeExecutionMode
from penstock.common.job import JobExecutionResult
from penstock.common.type_inference import infer_type_of_values
from penstock.connectors.collection import CollectionSource
from penstock.connectors.dataframe import dataframe_source
from penstock.connectors.files import FileSource, TextLineFormat
from penstock.connectors.sequence import NumberSequenceSource
from penstock.connectors.source import Source
from penstock.datastream.arguments import (
    check_instance,
    check_max_parallelism,
    check_parallelism,
    check_text,
    refuse,
    refuse_argument,
)
from penstock.datastream.output_types import TypeHint, type_from_hint
from penstock.datastream.program import Program
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.translation import make_plan
from penstock.execution.job_client import JobClient
from penstock.execution.submit import submit
from penstock.optimizer.pipeline import optimize
from penstock.plan.drawing import to_mermaid, to_svg
from penstock.plan.explain import explain
from penstock.plan.json_form import to_json
from penstock.plan.nodes import SourceNode
from penstock.plan.plan import Plan

DEFAULT_JOB_NAME = "Penstock Job"

_PLAN_FORMS: dict[str, Callable[[Plan], str]] = {
    "text": explain,
    "json": lambda plan: json.dumps(to_json(plan), indent=2),
    "mermaid": to_mermaid,
    "svg": to_svg,
}


class StreamExecutionEnvironment:
    """Makes streams from sources and runs what was made of them.

    Nothing runs before `execute()`; afterwards the environment is ready for the next job.
    """

    def __init__(self, configuration: Configuration | None = None, spark_session: object | None = None) -> None:
        self._configuration = Configuration(configuration)
        self._spark_session = spark_session
        self._program = Program(self)

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, *, spark_session: object | None = None
    ) -> StreamExecutionEnvironment:
        """A new environment with these options.

        Its jobs run on `spark_session` where one is given, else on the active session, else on a new one.
        """
        if configuration is not None:
            check_instance(
                "get_execution_environment", "configuration", configuration, (Configuration,), "a Configuration or None"
            )
        return StreamExecutionEnvironment(configuration, spark_session)

    # --- settings

    @property
    def configuration(self) -> Configuration:
        """The options of the jobs of this environment; changes count from the next `execute` on."""
        return self._configuration

    def configure(self, configuration: Configuration) -> None:
        """Adds options to those that are set, and replaces those with the same name."""
        check_instance("configure", "configuration", configuration, (Configuration,), "a Configuration")
        self._configuration.add_all(configuration)

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Sets the number of subtasks of every operator that sets none itself."""
        self._configuration.set(options.PARALLELISM, check_parallelism("set_parallelism", parallelism))
        return self

    def get_parallelism(self) -> int:
        """The number of subtasks of an operator that sets none itself; by default the number of cores."""
        return self._configuration.get(options.PARALLELISM) or _available_cores()

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Sets the number of key groups of every operator that sets none itself."""
        checked = check_max_parallelism("set_max_parallelism", max_parallelism)
        self._configuration.set(options.MAX_PARALLELISM, checked)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups of an operator that sets none itself; -1: it follows from the parallelism."""
        return self._configuration.get(options.MAX_PARALLELISM) or -1

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Chooses between streaming and batch execution."""
        check_instance(
            "set_runtime_mode", "execution_mode", execution_mode, (RuntimeExecutionMode,), "a RuntimeExecutionMode"
        )
        self._configuration.set(options.RUNTIME_MODE, execution_mode)
        return self

    # --- sources

    def from_source(
        self,
        source: Source,
        watermark_strategy: None = None,
        source_name: str | None = None,
        type_info: TypeHint = None,
    ) -> DataStream:
        """A stream of what a source reads."""
        check_instance("from_source", "source", source, (Source,), "a source")
        if watermark_strategy is not None:
            raise refuse_argument("from_source", "watermark_strategy", watermark_strategy, "None: no watermarks")
        name = source.describe() if source_name is None else check_text("from_source", "source_name", source_name)
        if type_info is not None:
            wanted = type_from_hint("from_source", "type_info", type_info)
            if wanted != source.produced_type:
                raise refuse(
                    f"from_source: the source produces {source.produced_type!r}, and type_info is {wanted!r}; "
                    "give the type to the source, or convert its records with `map(..., output_type=...)`"
                )
        return self._add_source(source, name)

    def from_collection(self, collection: Iterable[Any], type_info: TypeHint = None) -> DataStream:
        """A stream of the values of a list, in order. Without a type it is taken from the values."""
        check_instance("from_collection", "collection", collection, (Iterable,), "a list of records")
        if isinstance(collection, str | bytes):
            raise refuse_argument("from_collection", "collection", collection, "a list of records")
        values = list(collection)
        if type_info is None:
            record_type = infer_type_of_values(values)
        else:
            record_type = type_from_hint("from_collection", "type_info", type_info)
        return self._add_source(
            CollectionSource(values, record_type),
            "Collection Source",
            parallelism_is_fixed=True,
            type_is_declared=type_info is not None,
        )

    def from_sequence(self, from_: int, to: int) -> DataStream:
        """A stream of the numbers from one to the other, both included."""
        return self._add_source(NumberSequenceSource(from_, to), "Sequence Source")

    def generate_sequence(self, from_: int, to: int) -> DataStream:
        """The same as `from_sequence`."""
        return self.from_sequence(from_, to)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream:
        """A stream of the lines of a file, or of all files in a directory."""
        check_text("read_text_file", "file_path", file_path)
        return self._add_source(FileSource(file_path, TextLineFormat(charset_name)), "Text File Source")

    def from_dataframe(self, dataframe: Any) -> DataStream:
        """A stream of the rows of a pandas DataFrame, a pyarrow Table or a Spark DataFrame.

        Spark computes a DataFrame of its own once, when the job first starts; a restart reads the same rows.
        """
        return self._add_source(dataframe_source(dataframe), "DataFrame Source")

    def _add_source(
        self, source: Source, name: str, *, parallelism_is_fixed: bool = False, type_is_declared: bool = True
    ) -> DataStream:
        return self._program.transform(
            SourceNode,
            name,
            (),
            source.produced_type,
            type_is_declared=type_is_declared,
            parallelism_is_fixed=parallelism_is_fixed,
            source=source,
        )

    # --- running

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Runs everything that ends in a sink, and waits for it. Raises `JobExecutionException` when the job fails."""
        return self.execute_async(job_name).wait()

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Starts everything that ends in a sink and returns at once."""
        plan = self.get_plan(job_name)
        self._program.transformations.clear()
        return submit(plan, Configuration(self._configuration), self._spark_session)

    def get_plan(self, job_name: str | None = None) -> Plan:
        """The plan of everything since the last `execute`, before the optimizer."""
        if not self._program.transformations:
            raise refuse(
                "there is nothing to execute: make a stream (`env.from_collection(...)`, `env.from_source(...)`) "
                "and give it a sink (`print()`, `sink_to(...)`)"
            )
        return make_plan(
            self._program.transformations,
            job_name or self._configuration.get_string("pipeline.name", DEFAULT_JOB_NAME),
            parallelism=self.get_parallelism(),
            max_parallelism=self._configuration.get(options.MAX_PARALLELISM),
        )

    def get_execution_plan(self) -> str:
        """The plan as it would run, as JSON text."""
        return self.explain("json")

    def explain(self, form: str = "text") -> str:
        """The plan as it would run: stages, chains, operators and exchanges, as text, json, mermaid or svg."""
        if form not in _PLAN_FORMS:
            raise refuse_argument("explain", "form", form, f"one of {', '.join(_PLAN_FORMS)}")
        return _PLAN_FORMS[form](optimize(self.get_plan()))

    def __repr__(self) -> str:
        return f"<StreamExecutionEnvironment, parallelism {self.get_parallelism()}, {self._configuration!r}>"


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
