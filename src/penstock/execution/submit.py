"""From a plan to a running job: optimize, compile, ship, run."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from penstock.common import options
from penstock.common.checkpointing import ExternalizedCheckpointRetention
from penstock.common.clock import Clock
from penstock.common.configuration import Configuration
from penstock.common.errors import PlanError
from penstock.common.execution_mode import RuntimeExecutionMode
from penstock.common.job import JobID, JobStatus
from penstock.common.logs import configure_logging_once, job_logger
from penstock.common.misspelt_options import misspelt_options
from penstock.common.pipelined_options import PIPELINED, is_pipelined
from penstock.connectors.source import Boundedness, EpochBudget
from penstock.engine.epochs.driver_presence import BEATS_PER_TIMEOUT
from penstock.engine.epochs.epoch_settings import EpochSettings
from penstock.engine.epochs.restarts import restart_policy
from penstock.engine.epochs.retention import remove_checkpoint, remove_other_programs
from penstock.engine.epochs.runner import EpochRunner
from penstock.engine.epochs.stage_executor import StageExecutor
from penstock.engine.epochs.starting_state import JobIdentity, StateRecovery
from penstock.engine.pipelined.checks import check_pipelined
from penstock.engine.pipelined.followed_source import with_followed_sources
from penstock.engine.stages.compiled import CompiledJob, compile_plan
from penstock.engine.stages.job_resources import JobResources
from penstock.engine.stages.shipping import pickle_job, ship_job
from penstock.engine.stages.task_environment import TaskEnvironment
from penstock.engine.stages.task_host import TaskSetup
from penstock.execution.cached_files import parse_cached_files, stage_cached_files
from penstock.execution.engines import Engine, engine_named
from penstock.execution.job_client import JobClient
from penstock.execution.job_watchers import job_watchers
from penstock.execution.run_records import RunRecord
from penstock.execution.timestamp_check import check_timestamps
from penstock.optimizer.pipeline import optimize
from penstock.plan.json_form import fingerprint
from penstock.plan.nodes import SourceNode
from penstock.plan.plan import Plan
from penstock.plan.state_summary import state_summary
from penstock.state.storage import CheckpointStorage, open_storage


def submit(
    plan: Plan,
    configuration: Configuration,
    session: object | None = None,
    clock: Clock | None = None,
    caught_up: str | None = None,
) -> JobClient:
    """Starts a job and returns its handle at once; mistakes that can be known now are raised now.

    `session` is a SparkSession to run on; None takes the active one or makes one. `clock` is what the job takes for
    processing time; None is that of this machine. `caught_up` is a directory for a savepoint, with which the job ends
    as soon as its sources have nothing left to read.
    """
    configure_logging_once(configuration.get(options.LOG_LEVEL), configuration.get(options.LOG_FORMAT))
    for key, nearest in misspelt_options(configuration).items():
        job_logger(plan.job_name).warning("there is no option %s, it has no effect; did you mean %s?", key, nearest)
    optimized = plan_to_run(plan, configuration)
    check_timestamps(optimized)
    for watcher in job_watchers():
        watcher.planned(optimized, configuration)
    name = PIPELINED if is_pipelined(configuration) else configuration.get(options.ENGINE)
    engine = engine_named(name, configuration, session)
    place = _CheckpointPlace.choose(configuration)
    try:
        client = _client(optimized, configuration, engine, place, clock or Clock(), caught_up)
    except BaseException:
        place.release()
        raise
    try:
        client.start()
        for watcher in job_watchers():
            watcher.started(client)
    except BaseException:
        # Ctrl-C may come before anybody knows of the job: it must not go on for ever.
        client.cancel()
        raise
    return client


def plan_to_run(plan: Plan, configuration: Configuration) -> Plan:
    """The plan as it runs: optimized, in the mode that the configuration asks for."""
    in_mode = dataclasses.replace(plan, batch=runs_bounded(plan, configuration))
    optimized = optimize(in_mode, configuration.get(options.DISABLED_RULES))
    if is_pipelined(configuration):
        check_pipelined(optimized, configuration)
    return optimized


def _client(
    optimized: Plan,
    configuration: Configuration,
    engine: Engine,
    place: _CheckpointPlace,
    clock: Clock,
    caught_up: str | None,
) -> JobClient:
    storage = open_storage(place.location)
    prepared = with_prepared_sources(optimized, storage)
    job = compile_plan(with_followed_sources(prepared) if is_pipelined(configuration) else prepared)
    files = stage_cached_files(storage, parse_cached_files(configuration.get(options.CACHED_FILES)))
    resources = JobResources(configuration.get(options.GLOBAL_JOB_PARAMETERS), files)
    job = dataclasses.replace(job, resources=resources)
    launch = _Launch(engine, job, configuration, storage, pickle_job(job))
    if not configuration.get(options.STANDBY):
        engine.prepare()
    runner = EpochRunner(
        job,
        JobIdentity(optimized.job_name, fingerprint(optimized), state_summary(optimized)),
        storage,
        _epoch_settings(configuration, job, place),
        launch.executor,
        restarts=restart_policy(
            configuration, is_checkpointed_stream=_is_checkpointed_stream(configuration, optimized)
        ),
        recovery=StateRecovery(
            configuration.get(options.SAVEPOINT_PATH), configuration.get(options.IGNORE_UNCLAIMED_STATE)
        ),
        spread=engine.spread,
        clock=clock.now,
        wait=clock.wait,
    )
    job_id = JobID()
    record = None if place.temporary else RunRecord(storage, str(job_id), optimized)
    client = JobClient(runner, job_id, optimized, place.location, place.ended, record)
    client.savepoint_directory = configuration.get(options.SAVEPOINT_DIRECTORY)
    if caught_up is not None:
        client.stop_when_caught_up(caught_up)
    return client


def _minimum_spacing(configuration: Configuration) -> int:
    """How long after the beginning of an epoch the next one begins at the earliest, in ms."""
    # In pipelined mode an epoch lasts, and behind one that was cut short the next begins at once: records stand still
    # between the two.
    if is_pipelined(configuration):
        return 0
    return max(configuration.get(options.EPOCH_INTERVAL), configuration.get(options.CHECKPOINT_INTERVAL))


def _epoch_settings(configuration: Configuration, job: CompiledJob, place: _CheckpointPlace) -> EpochSettings:
    # In pipelined mode records would stand still while nothing but the next epoch is waited for.
    waits = not is_pipelined(configuration)
    settings = EpochSettings(
        budget=EpochBudget(
            configuration.get(options.EPOCH_MAX_RECORDS),
            configuration.get(options.EPOCH_MAX_BYTES),
            job.stage_parallelism[0],
        ),
        bounded=job.batch,
        retained=configuration.get(options.RETAINED_CHECKPOINTS),
        minimum_spacing_ms=_minimum_spacing(configuration),
        minimum_pause_ms=configuration.get(options.CHECKPOINT_MIN_PAUSE) if waits else 0,
        watermark_interval=configuration.get(options.AUTO_WATERMARK_INTERVAL),
        target_latency_ms=configuration.get(options.TARGET_LATENCY) if waits else None,
    )
    if configuration.contains(options.TOLERABLE_FAILURES):
        settings = dataclasses.replace(settings, attempts=configuration.get(options.TOLERABLE_FAILURES))
    if place.temporary:
        return settings
    timeout = configuration.get(options.STANDBY_TIMEOUT)
    return dataclasses.replace(
        settings,
        standby_timeout_ms=timeout if configuration.get(options.STANDBY) else None,
        presence_interval_ms=timeout // BEATS_PER_TIMEOUT,
    )


def _is_checkpointed_stream(configuration: Configuration, plan: Plan) -> bool:
    """Whether the program asks for checkpoints, as programs for Flink do: by a directory or an interval."""
    has_directory = configuration.get(options.CHECKPOINT_DIRECTORY) is not None
    return not plan.batch and (has_directory or configuration.get(options.CHECKPOINT_INTERVAL) > 0)


def with_prepared_sources(plan: Plan, storage: CheckpointStorage) -> Plan:
    """The plan with its sources as tasks read them; each has a directory of its own in the checkpoint."""
    prepared = {
        node.id: node.source.prepared(str(storage.resolve(f"dataframes/uid-{quote(node.uid, safe='')}")))
        for node in plan.sources
    }
    nodes = [
        dataclasses.replace(node, source=prepared[node.id]) if isinstance(node, SourceNode) else node
        for node in plan.nodes
    ]
    return dataclasses.replace(plan, nodes=tuple(nodes))


def runs_bounded(plan: Plan, configuration: Configuration) -> bool:
    """Whether the plan runs as batch: asked for, or automatic and every source ends."""
    unbounded = [node for node in plan.sources if node.source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED]
    mode = configuration.get(options.RUNTIME_MODE)
    if mode is RuntimeExecutionMode.BATCH and unbounded:
        node = unbounded[0]
        raise PlanError(
            f"the source '{node.name}' (uid {node.uid}, {node.call_site}) never ends, but execution.runtime-mode is "
            "BATCH. Bound the source, or set the mode to STREAMING or AUTOMATIC."
        )
    return mode is RuntimeExecutionMode.BATCH or (mode is RuntimeExecutionMode.AUTOMATIC and not unbounded)


@dataclass(frozen=True)
class _Launch:
    """Makes the executor once the job's id is known."""

    engine: Engine
    job: CompiledJob
    configuration: Configuration
    storage: CheckpointStorage
    program: bytes

    def executor(self, job_id: str) -> StageExecutor:
        """Called by the driver that owns the job, when it starts and after a failure."""
        self.engine.prepare()
        program = ship_job(self.storage, self.program)
        remove_other_programs(self.storage, program)
        environment = TaskEnvironment(
            job_id=job_id,
            storage=self.storage,
            backend=self.configuration.get(options.STATE_BACKEND) or self.engine.default_backend,
            local_directory=self.configuration.get(options.STATE_LOCAL_DIRECTORY)
            or str(Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"),
            gather_memory=self.configuration.get(options.GATHER_MEMORY),
            watermark_interval=self.configuration.get(options.AUTO_WATERMARK_INTERVAL),
            log_level=self.configuration.get(options.LOG_LEVEL),
            log_format=self.configuration.get(options.LOG_FORMAT),
        )
        return self.engine.create_executor(self.job, TaskSetup(environment, program, self.job.stage_parallelism))


@dataclass(frozen=True)
class _CheckpointPlace:
    """The checkpoint directory, and what happens to it at the end of the job."""

    location: str
    temporary: bool
    kept_after: frozenset[JobStatus] = frozenset(JobStatus)

    @staticmethod
    def choose(configuration: Configuration) -> _CheckpointPlace:
        configured = configuration.get(options.CHECKPOINT_DIRECTORY)
        if not configured:
            return _CheckpointPlace(tempfile.mkdtemp(prefix="penstock-checkpoint-"), True)
        if not configuration.contains(options.CHECKPOINT_RETENTION):
            return _CheckpointPlace(configured, False)
        return _CheckpointPlace(configured, False, _KEPT_AFTER[configuration.get(options.CHECKPOINT_RETENTION)])

    def release(self) -> None:
        if self.temporary:
            shutil.rmtree(self.location, ignore_errors=True)

    def ended(self, status: JobStatus, owns_job: bool) -> None:
        """The job is over; where it was another driver's in the end, that one decides."""
        self.release()
        if owns_job and not self.temporary and status not in self.kept_after:
            remove_checkpoint(open_storage(self.location))


_KEPT_AFTER = {
    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION: frozenset({JobStatus.CANCELED, JobStatus.FAILED}),
    ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION: frozenset({JobStatus.FAILED}),
    ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS: frozenset[JobStatus](),
}
"""As in Flink: the checkpoint of a job that has finished is of no more use."""
