"""The cached streams of an environment: which are computed, and where their records are."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.common.job import JobStatus
from penstock.connectors.cached_records import CachedRecordsSink, CachedRecordsSource
from penstock.datastream.transformation import Transformation, Upstream
from penstock.datastream.translation import with_all_inputs
from penstock.plan.nodes import SourceNode

if TYPE_CHECKING:
    from penstock.datastream.program import Program
    from penstock.execution.job_client import JobClient


class CachedOperator:
    """The operator at the end of a cached stream. Once its records are there it becomes a source of them."""

    def __init__(self, transformation: Transformation) -> None:
        self.transformation = transformation
        self._node_class = transformation.node_class
        self._arguments = transformation.arguments
        self._inputs = transformation.inputs
        self.directory: Path | None = None
        """Where the records are, if they are."""

    def read_from(self, directory: Path) -> None:
        """Reads the records of this directory from now on."""
        self.directory = directory
        self.transformation.node_class = SourceNode
        source = CachedRecordsSource(str(directory), self.transformation.output_type)
        self.transformation.arguments = {"source": source}
        self.transformation.inputs = ()

    def compute_again(self) -> None:
        """Drops the records: the next job computes them anew."""
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
        self.directory = None
        self.transformation.node_class = self._node_class
        self.transformation.arguments = self._arguments
        self.transformation.inputs = self._inputs


class StreamCaches:
    """Made once per environment."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._operators: dict[Transformation, CachedOperator] = {}
        self._root: Path | None = None
        self._written: list[tuple[CachedOperator, Path]] = []
        """What jobs that have ended have written, until the program makes the next plan."""

    def add(self, transformation: Transformation) -> CachedOperator:
        """Caches what the operator emits."""
        return self._operators.setdefault(transformation, CachedOperator(transformation))

    def use_written(self) -> None:
        """Takes over what jobs have written since. Called by the program's thread, which makes plans."""
        while self._written:
            operator, directory = self._written.pop()
            if operator.directory is None:
                operator.read_from(directory)
            else:
                shutil.rmtree(directory, ignore_errors=True)

    def add_sinks(self, program: Program) -> list[tuple[CachedOperator, Path]]:
        """Lets the job that is about to start write what is not there yet."""
        pending: list[tuple[CachedOperator, Path]] = []
        for transformation in list(with_all_inputs(program.transformations)):
            operator = self._operators.get(transformation)
            if operator is None or operator.directory is not None:
                continue
            directory = self._directory() / uuid.uuid4().hex
            sink = CachedRecordsSink(str(directory))
            program.sink(sink, "Cache", (Upstream(transformation),), transformation.output_type)
            pending.append((operator, directory))
        return pending

    def job_started(self, client: JobClient, pending: Iterable[tuple[CachedOperator, Path]]) -> None:
        """Remembers what the job writes, for when it has finished."""
        written = list(pending)
        if written:
            client.get_job_execution_result().add_done_callback(lambda _: self._job_ended(client, written))

    def close(self) -> None:
        """Drops all records."""
        for operator in self._operators.values():
            operator.compute_again()
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root = None

    def _job_ended(self, client: JobClient, written: list[tuple[CachedOperator, Path]]) -> None:
        if client.status is JobStatus.FINISHED:
            self._written += written

    def _directory(self) -> Path:
        if self._root is None:
            configured = self._configuration.get(options.CACHE_DIRECTORY)
            if configured is None:
                self._root = Path(tempfile.mkdtemp(prefix="penstock-cache-"))
            else:
                self._root = Path(configured).absolute() / uuid.uuid4().hex
        return self._root
