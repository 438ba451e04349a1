"""Publishes epochs after their manifest is on disk, beside the work on the next epoch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from penstock.common.errors import PenstockError, SinkError
from penstock.common.fail_points import reach
from penstock.connectors.sink import Committer, CommitterContext, EpochId
from penstock.engine.epochs.manifest import Manifest
from penstock.engine.stages.compiled import CompiledJob
from penstock.plan.nodes import SinkNode
from penstock.state.storage import CheckpointStorage

Tokens = Mapping[str, Sequence[Any]]


class Publisher:
    """One thread, one epoch after the other. `wait` before the next manifest: manifest n+1 says that n is out."""

    def __init__(self, job: CompiledJob, job_id: str, storage: CheckpointStorage) -> None:
        self._storage = storage
        self._committers: dict[str, tuple[str, Committer]] = {}
        for chain in job.chains:
            for node in chain.nodes:
                if isinstance(node, SinkNode):
                    committer = node.sink.create_committer(CommitterContext(job_id, node.uid, storage))
                    if committer is not None:
                        self._committers[node.uid] = (node.name, committer)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-publisher")
        self._running: Future[None] | None = None

    def recover(self, newest: EpochId | None) -> None:
        """Lets every sink refuse a checkpoint that is older than what it shows."""
        for _, committer in self._committers.values():
            committer.recover(newest)

    def stage_tokens(self, epoch: EpochId, tokens: Tokens) -> str | None:
        """Writes what the manifest is going to name; None when there is nothing to publish."""
        published = {uid: list(staged) for uid, staged in sorted(tokens.items()) if uid in self._committers and staged}
        if not published:
            return None
        prefix = f"tokens/{epoch.incarnation}/{epoch.number}"
        return self._storage.write_staged(prefix, json.dumps(published, sort_keys=True).encode())

    def publish(self, manifest: Manifest) -> None:
        """Starts to publish an epoch."""
        if manifest.tokens is not None:
            self._running = self._thread.submit(self._commit, manifest.epoch, manifest.tokens)

    def wait(self) -> None:
        """Returns when all that was started is published; raises what went wrong."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def close(self) -> None:
        """Stops the thread and lets go of connections."""
        self._thread.shutdown(wait=True)
        for _, committer in self._committers.values():
            committer.close()

    def _commit(self, epoch: EpochId, path: str) -> None:
        reach("publish.before")
        tokens: Tokens = json.loads(self._storage.read_verified(path))
        for uid, staged in tokens.items():
            name, committer = self._committers[uid]
            try:
                committer.commit(epoch, staged)
            except PenstockError:
                raise
            except Exception as error:
                raise SinkError(f"the sink '{name}' (uid {uid}) could not publish epoch {epoch}: {error}") from error
            reach("publish.sink")
        reach("publish.after")
