"""History first, then live: one program, one call."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from penstock.common import options
from penstock.common.clock import Clock
from penstock.common.configuration import Configuration
from penstock.common.errors import PlanError
from penstock.connectors.source import Boundedness
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.execution.job_client import JobClient
from penstock.execution.submit import submit
from penstock.plan.plan import Plan
from penstock.state.storage import open_storage

_LARGER_EPOCHS = 16


def backfill_to_live(
    plan: Plan,
    configuration: Configuration,
    savepoint_directory: str,
    history_options: Mapping[str, str],
    session: object | None = None,
    clock: Clock | None = None,
) -> JobClient:
    """Works through what the sources have, stops with a savepoint, and starts the job from it; returns the live job.

    A job that has been live before goes on from its own checkpoint. One that died in its history goes on there.
    """
    if all(node.source.boundedness is Boundedness.BOUNDED for node in plan.sources):
        raise PlanError("every source of the program ends: there is nothing to go live with. Run it with execute().")
    checkpoint = configuration.get(options.CHECKPOINT_DIRECTORY)
    if checkpoint is not None and ManifestLog(open_storage(checkpoint), token="").numbers():
        return submit(plan, configuration, session, clock)
    directory = open_storage(savepoint_directory).location
    work = str(Path(directory) / "history")
    history = submit(plan, _of_history(configuration, work, history_options), session, clock, caught_up=directory)
    history.wait()
    live = Configuration(configuration)
    live.set(options.SAVEPOINT_PATH, history.savepoint_when_caught_up())
    client = submit(plan, live, session, clock)
    shutil.rmtree(work, ignore_errors=True)
    return client


def _of_history(configuration: Configuration, checkpoint: str, given: Mapping[str, str]) -> Configuration:
    """Larger epochs without pauses: history is there already, and fewer commits are less work."""
    history = Configuration(configuration)
    history.set(options.CHECKPOINT_DIRECTORY, checkpoint)
    history.set(options.EPOCH_INTERVAL, 0)
    for option in (options.EPOCH_MAX_RECORDS, options.EPOCH_MAX_BYTES):
        history.set(option, configuration.get(option) * _LARGER_EPOCHS)
    for key, value in given.items():
        history.set_string(key, value)
    return history
