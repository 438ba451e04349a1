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
from penstock.common.clock import Clock
from penstock.common.configuration import Configuration
from penstock.common.errors import PlanError
from penstock.common.execution_mode import RuntimeExecutionMode
from penstock.common.job import JobID
from penstock.common.logs import configure_logging_once
from penstock.connectors.source import Boundedness, EpochBudget
from penstock.engine.epochs.restarts import restart_policy
from penstock.engine.epochs.runner import EpochRunner, EpochSettings, JobIdentity
from penstock.engine.epochs.stage_executor import StageExecutor
from penstock.engine.stages.compiled import CompiledJob, compile_plan
from penstock.engine.stages.job_resources import JobResources
from penstock.engine.stages.shipping import ship_job
from penstock.engine.stages.task_environment import TaskEnvironment
from penstock.engine.stages.task_host import TaskSetup
from penstock.execution.cached_files import parse_cached_files, stage_cached_files
from penstock.execution.engines import Engine, engine_named
from penstock.execution.job_client import JobClient
from penstock.execution.job_watchers import job_watchers
from penstock.execution.run_records import RunRecord
from penstock.optimizer.pipeline import optimize
from penstock.plan.json_form import fingerprint
from penstock.plan.nodes import SourceNode
from penstock.plan.plan import Plan
from penstock.plan.state_summary import state_summary
from penstock.state.storage import CheckpointStorage, open_storage


def submit(
    plan: Plan, configuration: Configuration, session: object | None = None, clock: Clock | None = None
) -> JobClient:
    """Starts a job and returns its handle at once; mistakes that can be known now are raised now.

    `session` is a SparkSession to run on; None takes the active one or makes one. `clock` is what the job takes for
    processing time; None is that of this machine.
    """
    configure_logging_once(configuration.get(options.LOG_LEVEL), configuration.get(options.LOG_FORMAT))
    optimized = plan_to_run(plan, configuration)
    for watcher in job_watchers():
        watcher.planned(optimized)
    engine = engine_named(configuration.get(options.ENGINE), configuration, session)
    place = _CheckpointPlace.choose(configuration)
    try:
        client = _start(optimized, configuration, engine, place, clock or Clock())
    except BaseException:
        place.release()
        raise
    for watcher in job_watchers():
        watcher.started(client)
    return client


def plan_to_run(plan: Plan, configuration: Configuration) -> Plan:
    """The plan as it runs: optimized, in the mode that the configuration asks for."""
    return dataclasses.replace(optimize(plan), batch=runs_bounded(plan, configuration))


def _start(
    optimized: Plan, configuration: Configuration, engine: Engine, place: _CheckpointPlace, clock: Clock
) -> JobClient:
    storage = open_storage(place.location)
    job = compile_plan(with_prepared_sources(optimized, storage))
    files = stage_cached_files(storage, parse_cached_files(configuration.get(options.CACHED_FILES)))
    resources = JobResources(configuration.get(options.GLOBAL_JOB_PARAMETERS), files)
    job = dataclasses.replace(job, resources=resources)
    program = ship_job(storage, job)
    launch = _Launch(engine, job, configuration, storage, program)
    engine.prepare()
    runner = EpochRunner(
        job,
        JobIdentity(optimized.job_name, fingerprint(optimized), state_summary(optimized)),
        storage,
        EpochSettings(
            budget=EpochBudget(
                configuration.get(options.EPOCH_MAX_RECORDS),
                configuration.get(options.EPOCH_MAX_BYTES),
                job.stage_parallelism[0],
            ),
            bounded=optimized.batch,
            retained=configuration.get(options.RETAINED_CHECKPOINTS),
            minimum_spacing_ms=configuration.get(options.EPOCH_INTERVAL),
            watermark_interval=configuration.get(options.AUTO_WATERMARK_INTERVAL),
        ),
        launch.executor,
        restarts=restart_policy(configuration),
        clock=clock.now,
        wait=clock.wait,
    )
    job_id = JobID()
    record = None if place.temporary else RunRecord(storage, str(job_id), optimized)
    return JobClient(runner, job_id, optimized, place.location, place.release, record).start()


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
    program: str

    def executor(self, job_id: str) -> StageExecutor:
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
        return self.engine.create_executor(self.job, TaskSetup(environment, self.program, self.job.stage_parallelism))


@dataclass(frozen=True)
class _CheckpointPlace:
    """The checkpoint directory, and what happens to it at the end of the job."""

    location: str
    temporary: bool

    @staticmethod
    def choose(configuration: Configuration) -> _CheckpointPlace:
        configured = configuration.get(options.CHECKPOINT_DIRECTORY)
        if configured:
            return _CheckpointPlace(configured, False)
        return _CheckpointPlace(tempfile.mkdtemp(prefix="penstock-checkpoint-"), True)

    def release(self) -> None:
        if self.temporary:
            shutil.rmtree(self.location, ignore_errors=True)
