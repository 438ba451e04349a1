"""Publishes epochs after their manifest is on disk, beside the work on the next epoch."""

from __future__ import annotations

import concurrent.futures
import json
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from penstock.common.errors import PenstockError, PlanError, SinkError
from penstock.common.fail_points import reach
from penstock.common.logs import about_the_same, job_logger, logging_about
from penstock.connectors.sink import Committer, CommitterContext, EpochEnd, EpochId, PublisherContext
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.epochs.event_time import EventTime
from penstock.engine.epochs.manifest import Manifest
from penstock.engine.epochs.stage_executor import ExecutionFailedError, StageExecutor
from penstock.engine.epochs.waiting_output import held_output, note_published
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.epoch_header import EpochHeader
from penstock.engine.stages.publish_host import SubtaskOutput
from penstock.plan.nodes import SinkNode
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK
from penstock.state.storage import CheckpointStorage

Tokens = Mapping[str, Mapping[int, Sequence[Any]]]
"""What writers said, by the uid of the sink and by subtask."""

_ATTEMPTS = 3
"""How often publishing is tried when the engine loses the tasks that do it."""


class Publisher:
    """One thread, one epoch after the other. `wait` before the next manifest: manifest n+1 says that n is out.

    What moves records is done by tasks that `executor` runs, all sinks at once; committers then do the rest here.
    """

    def __init__(self, job: CompiledJob, job_id: str, storage: CheckpointStorage, executor: StageExecutor) -> None:
        self._storage = storage
        self._executor = executor
        self._logger = job_logger(job.name)
        self._names: dict[str, str] = {}
        self._heads: dict[str, str] = {}
        """By the uid of a sink, that of the first operator of its chain: a source, or one that reports watermarks."""
        self._committers: dict[str, Committer] = {}
        self._published_in_tasks: set[str] = set()
        self._last_epochs: dict[tuple[str, int], EpochId] = {}
        """The last epoch that a task has published for a subtask of a sink."""
        for chain in job.chains:
            for node in chain.nodes:
                if isinstance(node, SinkNode):
                    self._heads[node.uid] = chain.head.uid
                    self._add_sink(node, job_id)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-publisher")
        self._running: Future[None] | None = None
        self._newest: Manifest | None = None
        """The newest epoch of which it has published all."""

    def recover(self, newest: EpochId | None) -> None:
        """Lets every sink refuse a checkpoint that is older than what it shows."""
        for committer in self._committers.values():
            committer.recover(newest)

    def gather(
        self, tokens: Tokens, header: EpochHeader, times: EventTime, *, is_last: bool, state: DriverState
    ) -> Tokens:
        """What is to be published with the epoch: committers may hold staged output back for a later one."""
        gathered = dict(tokens)
        for uid, committer in self._committers.items():
            watermark = MAX_WATERMARK if is_last else self._watermark(uid, times)
            end = EpochEnd(header.epoch, header.now, watermark, is_last, held_output(state, uid))
            gathered[uid] = committer.gather(tokens.get(uid, {}), end)
        return gathered

    def next_due(self) -> int | None:
        """When output that is held back has to be looked at again, whether records come or not."""
        due = [committer.next_due() for committer in self._committers.values()]
        return min((time for time in due if time is not None), default=None)

    def stage_tokens(self, epoch: EpochId, tokens: Tokens) -> str | None:
        """Writes what the manifest is going to name; None when there is nothing to publish."""
        published = {
            uid: {str(subtask): list(of_subtask) for subtask, of_subtask in sorted(staged.items()) if of_subtask}
            for uid, staged in sorted(tokens.items())
            if any(staged.values())
        }
        if not published:
            return None
        self._check_that_all_is_published(published)
        prefix = f"tokens/{epoch.incarnation}/{epoch.number}"
        return self._storage.write_staged(prefix, json.dumps(published).encode())

    def publish(self, manifest: Manifest, without: Collection[str] = ()) -> None:
        """Starts to publish an epoch, but for some sinks, by uid."""
        if manifest.tokens is not None:
            self._running = self._thread.submit(about_the_same(self._commit), manifest, manifest.tokens, without)
        elif not without:
            self._newest = manifest

    def wait(self) -> None:
        """Returns when all that was started is published; raises what went wrong."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def settle(self) -> None:
        """Puts down what is published, once all that was started has been, or has failed: the job ends, or restarts."""
        if self._running is not None:
            concurrent.futures.wait([self._running])
        if self._newest is not None:
            note_published(self._storage, self._newest)

    def close(self) -> None:
        """Stops the thread and lets go of connections."""
        self._thread.shutdown(wait=True)
        for committer in self._committers.values():
            committer.close()

    def _watermark(self, uid: str, times: EventTime) -> int:
        known = times.of_operator(uid)
        if known is None:
            known = times.of_operator(self._heads[uid])
        return MIN_WATERMARK if known is None else known

    def _add_sink(self, node: SinkNode, job_id: str) -> None:
        self._names[node.uid] = node.name
        committer = node.sink.create_committer(CommitterContext(job_id, node.uid, self._storage, node.parallelism))
        if committer is not None:
            self._committers[node.uid] = committer
        publisher = node.sink.create_publisher(PublisherContext(job_id, node.uid, 0, node.parallelism, self._storage))
        if publisher is not None:
            self._published_in_tasks.add(node.uid)
            publisher.close()

    def _commit(self, manifest: Manifest, path: str, without: Collection[str]) -> None:
        reach("publish.before")
        epoch = manifest.epoch
        content = json.loads(self._storage.read_verified(path))
        tokens: Tokens = {
            uid: {int(subtask): of_subtask for subtask, of_subtask in staged.items()}
            for uid, staged in content.items()
            if uid not in without
        }
        self._check_that_all_is_published(tokens)
        self._publish_in_tasks(epoch, tokens)
        for uid, staged in tokens.items():
            if uid in self._committers:
                self._commit_here(
                    epoch, uid, [token for _, of_subtask in sorted(staged.items()) for token in of_subtask]
                )
        reach("publish.after")
        if not without:
            self._newest = manifest

    def _check_that_all_is_published(self, uids: Collection[str]) -> None:
        for uid in uids:
            if uid not in self._committers and uid not in self._published_in_tasks:
                raise PlanError(
                    f"the sink '{self._names.get(uid, uid)}' (uid {uid}) has staged output, and nobody would publish "
                    "it: let `create_committer` or `create_publisher` return who does; a writer that has nothing to be "
                    "published returns no tokens"
                )

    def _publish_in_tasks(self, epoch: EpochId, tokens: Tokens) -> None:
        outputs = [
            SubtaskOutput(uid, subtask, tuple(of_subtask), self._last_epochs.get((uid, subtask)))
            for uid, staged in tokens.items()
            if uid in self._published_in_tasks
            for subtask, of_subtask in sorted(staged.items())
        ]
        if not outputs:
            return
        attempt = 1
        while True:
            try:
                failures = self._executor.publish(epoch, outputs)
                break
            except ExecutionFailedError as error:
                if attempt == _ATTEMPTS:
                    raise SinkError(
                        f"epoch {epoch} could not be published: the engine lost the tasks {attempt} times: {error}"
                    ) from error
                self._logger.warning("epoch %s is published again: %s", epoch, error)
                attempt += 1
        if failures:
            failure = min(failures, key=lambda failure: (failure.uid, failure.subtask))
            raise SinkError(
                f"the sink '{self._names[failure.uid]}' (uid {failure.uid}, subtask {failure.subtask}) could not "
                f"publish epoch {epoch}: {failure.message}"
            )
        self._last_epochs |= {(output.uid, output.subtask): epoch for output in outputs}
        reach("publish.tasks")

    def _commit_here(self, epoch: EpochId, uid: str, tokens: Sequence[Any]) -> None:
        try:
            with logging_about(operator=self._names[uid], epoch=epoch.number):
                self._committers[uid].commit(epoch, tokens)
        except PenstockError:
            raise
        except Exception as error:
            raise SinkError(
                f"the sink '{self._names[uid]}' (uid {uid}) could not publish epoch {epoch}: {error}"
            ) from error
        reach("publish.sink")
