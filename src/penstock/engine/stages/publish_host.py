"""What a worker process keeps to publish: the sinks' publishers, with their connections."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.common.errors import PenstockError
from penstock.common.fail_points import reach
from penstock.common.logs import logging_about
from penstock.connectors.sink import EpochId, PublisherContext, Token, TokenPublisher
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.program_copies import ProgramCopies
from penstock.engine.stages.task_host import TaskSetup
from penstock.plan.nodes import SinkNode

_IDLE_SECONDS = 60
"""A worker that publishes for other jobs for so long lets go of this one's connections."""


@dataclass(frozen=True)
class SubtaskOutput:
    """What one subtask of a sink has staged in an epoch."""

    uid: str
    subtask: int
    tokens: tuple[Token, ...]
    previous: EpochId | None = None
    """The last epoch that this driver has had published for the subtask, by whatever process."""


@dataclass(frozen=True)
class PublishFailure:
    """Why a subtask's output could not be published."""

    uid: str
    subtask: int
    message: str


class _Key(NamedTuple):
    job_id: str
    program: str
    uid: str
    subtask: int


@dataclass
class HostedPublisher:
    """A publisher, what log lines say that it works on, and how far it has come."""

    publisher: TokenPublisher
    about: dict[str, Any]
    last_epoch: EpochId | None = None


class PublishHost:
    """One per worker process. Publishers live from epoch to epoch, until one fails or another process takes its place.

    Whoever publishes for a subtask fences off those that did so before; one that was fenced off is not tried again.
    """

    def __init__(self, files_root: Callable[[], str]) -> None:
        self._programs = ProgramCopies(files_root)
        self._publishers: dict[_Key, HostedPublisher] = {}
        self._last_used: dict[str, float] = {}

    def publish(self, setup: TaskSetup, epoch: EpochId, output: SubtaskOutput) -> PublishFailure | None:
        """Publishes what one subtask has staged."""
        key = _Key(setup.environment.job_id, setup.program, output.uid, output.subtask)
        try:
            self._let_go_of_others(key)
            reach("publish.task.before")
            hosted = self._publishers.get(key)
            if hosted is None or hosted.last_epoch != output.previous:
                self._close(key)
                hosted = self._publishers[key] = self._create(setup, output)
            with logging_about(**hosted.about, epoch=epoch.number):
                hosted.publisher.publish(epoch, output.tokens)
            hosted.last_epoch = epoch
            reach("publish.task.after")
        except Exception as error:
            self._close(key)
            told = str(error) if isinstance(error, PenstockError) else "".join(traceback.format_exception(error))
            return PublishFailure(output.uid, output.subtask, told)
        return None

    def close(self) -> None:
        """The end of the job."""
        for key in list(self._publishers):
            self._close(key)

    def _create(self, setup: TaskSetup, output: SubtaskOutput) -> HostedPublisher:
        job = self._programs.own_copy(setup.program, setup.files, setup.environment)
        node = _sink_of(job, output.uid)
        environment = setup.environment
        publisher = node.sink.create_publisher(
            PublisherContext(environment.job_id, node.uid, output.subtask, node.parallelism, environment.storage)
        )
        assert publisher is not None, "the driver asks for tasks only where the sink has publishers"
        return HostedPublisher(publisher, {"job": job.name, "operator": node.name, "subtask": output.subtask})

    def _let_go_of_others(self, key: _Key) -> None:
        now = time.monotonic()
        self._last_used[key.job_id] = now
        for other in list(self._publishers):
            is_old_program = other.job_id == key.job_id and other.program != key.program
            if is_old_program or now - self._last_used[other.job_id] > _IDLE_SECONDS:
                self._close(other)

    def _close(self, key: _Key) -> None:
        hosted = self._publishers.pop(key, None)
        if hosted is not None:
            # Whatever is wrong with the connections was told by the call that found it.
            with suppress(Exception):
                hosted.publisher.close()


def _sink_of(job: CompiledJob, uid: str) -> SinkNode:
    return next(node for chain in job.chains for node in chain.nodes if isinstance(node, SinkNode) and node.uid == uid)
