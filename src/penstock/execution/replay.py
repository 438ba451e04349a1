"""Runs one epoch of a job again, in this process, without changing its checkpoint or its sinks."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from penstock.common import options
from penstock.common.batch import Batch
from penstock.common.configuration import Configuration
from penstock.common.errors import CheckpointError, FailureReport
from penstock.connectors.sink import DeliveryGuarantee, EpochId, Sink, SinkWriter, SinkWriterContext, Token
from penstock.connectors.source import EpochBudget
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.epochs.manifest import EPOCH, Manifest
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.engine.epochs.replay_records import FailedEpoch, failed_epochs, read_failed_epoch
from penstock.engine.epochs.replay_storage import ReplayStorage
from penstock.engine.epochs.source_coordinator import SourceCoordinator, assign_to_tasks
from penstock.engine.epochs.stage_executor import StageResults
from penstock.engine.local.engine import LocalEngine
from penstock.engine.stages.compiled import CompiledJob, compile_plan
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.job_resources import JobResources
from penstock.engine.stages.shipping import pickle_job, ship_job
from penstock.engine.stages.task_environment import TaskEnvironment
from penstock.engine.stages.task_host import TaskSetup
from penstock.execution.cached_files import parse_cached_files, stage_cached_files
from penstock.execution.submit import with_prepared_sources
from penstock.plan.json_form import fingerprint
from penstock.plan.nodes import SinkNode
from penstock.plan.plan import Plan
from penstock.state.storage import CheckpointStorage, open_storage

ShowRecord = Callable[[str, Any], None]
"""Is called with the name of a sink and a record that came to it."""


@dataclass(frozen=True)
class Replayed:
    """How an epoch went when it was run again."""

    epoch: int
    failure: FailureReport | None
    recorded: FailureReport | None
    """What was recorded of its failure when the job ran."""
    records_read: int


def replay_epoch(plan: Plan, configuration: Configuration, location: str, number: int, show: ShowRecord) -> Replayed:
    """Runs an epoch of the optimized plan from the state that the checkpoint has of the epoch before.

    An epoch that failed reads what it was told to then. One that was committed is planned again from the same
    positions, with as many records as it had: sources that have more by now may spread them in another way.
    """
    checkpoint = open_storage(location)
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-replay-"))
        storage = ReplayStorage(checkpoint, directory)
        log = ManifestLog(checkpoint, token="")
        failed = read_failed_epoch(checkpoint, number)
        parent = _parent(log, number, failed)
        if parent.fingerprint != fingerprint(plan):
            raise CheckpointError(
                f"the checkpoint in {location} belongs to another plan than the program's; replay needs the program "
                "that wrote it, with the same options"
            )
        job = _compiled(plan, configuration, storage)
        if failed is not None:
            failed = failed.with_sources_of(job)
            header, tasks = failed.header, failed.tasks
        else:
            header, tasks = _planned_again(job, configuration, storage, log, parent, number)
        stack.callback(_shown.clear)
        _shown.update({node.uid: _named(show, node.name) for node in plan.nodes if isinstance(node, SinkNode)})
        results = _run(job, configuration, storage, directory, header, tasks)
        failures = sorted(results.failures, key=lambda failure: (failure.stage, failure.subtask))
        return Replayed(
            number,
            failures[0] if failures else None,
            None if failed is None else failed.report,
            sum(read.records for done in results.done for read in done.reads),
        )


def _parent(log: ManifestLog, number: int, failed: FailedEpoch | None) -> Manifest:
    numbers = log.numbers()
    before = [each for each in numbers if each < number]
    is_next = bool(numbers) and number == numbers[-1] + 1
    is_epoch = number in numbers and log.read(number).manifest.kind == EPOCH
    if not before or not (failed is not None or is_epoch or is_next):
        recorded = failed_epochs(open_storage(log.location))
        raise CheckpointError(
            f"epoch {number} cannot be run again from {log.location}: records of failures are there for "
            f"{recorded or 'no epoch'}, manifests for {numbers or 'no epoch'}; the one before the epoch is needed too"
        )
    return log.read(before[-1]).manifest


def _planned_again(
    job: CompiledJob,
    configuration: Configuration,
    storage: CheckpointStorage,
    log: ManifestLog,
    parent: Manifest,
    number: int,
) -> tuple[EpochHeader, tuple[tuple[PlannedRead, ...], ...]]:
    budget = EpochBudget(
        configuration.get(options.EPOCH_MAX_RECORDS),
        configuration.get(options.EPOCH_MAX_BYTES),
        job.stage_parallelism[0],
    )
    now = parent.now
    if number in log.numbers():
        manifest = log.read(number).manifest
        read = manifest.records.get("read", 0) - parent.records.get("read", 0)
        now = manifest.now
        budget = dataclasses.replace(budget, max_records=max(1, read))
    state = DriverState(storage, parent.driver_head)
    sources = SourceCoordinator(job, state, budget, bounded=job.batch)
    try:
        work = sources.plan(now)
    finally:
        sources.close()
    header = EpochHeader(
        job_id=parent.job_id,
        epoch=EpochId(parent.incarnation, number),
        run=0,
        now=now,
        index=parent.index,
        ended_sources=work.ended,
        budget=budget,
        bounded=job.batch,
        union_lists=state.union_lists,
    )
    return header, tuple(map(tuple, assign_to_tasks(job, work.reads)))


def _compiled(plan: Plan, configuration: Configuration, storage: ReplayStorage) -> CompiledJob:
    nodes = [
        dataclasses.replace(node, sink=_ShowingSink(node.uid)) if isinstance(node, SinkNode) else node
        for node in plan.nodes
    ]
    job = compile_plan(with_prepared_sources(dataclasses.replace(plan, nodes=tuple(nodes)), storage))
    files = stage_cached_files(storage, parse_cached_files(configuration.get(options.CACHED_FILES)))
    return dataclasses.replace(job, resources=JobResources(configuration.get(options.GLOBAL_JOB_PARAMETERS), files))


def _run(
    job: CompiledJob,
    configuration: Configuration,
    storage: CheckpointStorage,
    directory: str,
    header: EpochHeader,
    tasks: tuple[tuple[PlannedRead, ...], ...],
) -> StageResults:
    environment = TaskEnvironment(
        job_id=header.job_id,
        storage=storage,
        backend="memory",
        local_directory=directory,
        gather_memory=configuration.get(options.GATHER_MEMORY),
        watermark_interval=configuration.get(options.AUTO_WATERMARK_INTERVAL),
    )
    engine = LocalEngine(configuration, None)
    engine.prepare()
    program = ship_job(storage, pickle_job(job))
    executor = engine.create_executor(job, TaskSetup(environment, program, job.stage_parallelism))
    try:
        return executor.run(header, tasks)
    finally:
        executor.close(ended=False)


_shown: dict[str, Callable[[Any], None]] = {}
"""What sinks of the epoch that is run again do with records, by uid: the sinks themselves are pickled on their way."""


def _named(show: ShowRecord, name: str) -> Callable[[Any], None]:
    return lambda record: show(name, record)


class _ShowingSink(Sink):
    """Stands in for a sink of the program: nothing is written anywhere."""

    def __init__(self, uid: str) -> None:
        self._uid = uid

    @property
    def guarantee(self) -> DeliveryGuarantee:
        return DeliveryGuarantee.NONE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return _ShowingWriter(_shown[self._uid])


class _ShowingWriter(SinkWriter):
    def __init__(self, show: Callable[[Any], None]) -> None:
        self._show = show

    def write(self, batch: Batch) -> None:
        for record in batch.values:
            self._show(record)

    def prepare_commit(self) -> list[Token]:
        return []
