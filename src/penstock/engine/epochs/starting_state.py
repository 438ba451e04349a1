"""What a job starts from: nothing, its own newest manifest, the same under a changed plan, or a savepoint."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.errors import CheckpointError
from penstock.connectors.sink import EpochId
from penstock.engine.epochs.job_snapshot import CheckpointSnapshot, JobSnapshot, SavepointSnapshot
from penstock.engine.epochs.manifest import Manifest
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.engine.epochs.plan_description import describe_plan, keys_differ, read_plan, store_plan
from penstock.engine.epochs.restore import restore_state
from penstock.engine.epochs.spreading import Spread, in_this_process
from penstock.engine.epochs.waiting_output import WaitingOutput, waiting_output
from penstock.engine.stages.compiled import CompiledJob
from penstock.state.storage import CheckpointStorage, open_storage

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StateRecovery:
    """Where a job takes its state from when its checkpoint directory has none."""

    savepoint: str | None = None
    """A savepoint, or the directory of another job's checkpoint."""
    allow_non_restored_state: bool = False
    """Whether state may be left behind that the program has no operator for."""


@dataclass(frozen=True)
class JobIdentity:
    """What a job is called and what its plan is."""

    name: str
    fingerprint: str
    plan: Mapping[str, Any]


class StartingState:
    """Makes the manifest that a driver takes over with."""

    def __init__(
        self,
        job: CompiledJob,
        storage: CheckpointStorage,
        log: ManifestLog,
        identity: JobIdentity,
        recovery: StateRecovery,
        spread: Spread = in_this_process,
    ) -> None:
        self._job = job
        self._spread = spread
        self._identity = identity
        self._storage = storage
        self._log = log
        self._recovery = recovery
        self.waiting = WaitingOutput(storage.location)
        """What the job that goes on may still have to publish; a new one has nothing."""

    def first(self, manifest: Manifest) -> Manifest:
        """The manifest of a job that has none yet."""
        described = replace(manifest, plan_path=store_plan(self._storage, self._job))
        if self._recovery.savepoint is None:
            return described
        snapshot = open_snapshot(self._recovery.savepoint)
        self._check_output_before(snapshot)
        # The same job to its sinks: what they show of it is not another job's, and no epoch comes twice.
        before = snapshot.header
        incarnation = before.incarnation + 1
        restored = self._restored(described, snapshot, EpochId(incarnation, before.epoch + 1), None)
        return replace(
            restored,
            number=before.epoch,
            incarnation=incarnation,
            job_id=before.job_id or manifest.job_id,
            restored_from=snapshot.location,
            restored_epoch=(before.incarnation, before.epoch) if before.job_id else None,
        )

    def continued(self, newest: Manifest) -> Manifest:
        """The manifest of a job that has run before, as this program goes on from it."""
        try:
            return self._continued(newest)
        except CheckpointError as error:
            differences = _differences(newest.plan, self._identity.plan)
            if not differences:
                raise
            text = "\n".join((str(error), "The checkpoint belongs to another plan:", *differences))
            raise type(error)(text) from error

    def _continued(self, newest: Manifest) -> Manifest:
        self._refuse_other_savepoint(newest)
        fingerprint = self._identity.fingerprint
        described = replace(
            newest,
            plan_path=store_plan(self._storage, self._job),
            fingerprint=fingerprint,
            plan=self._identity.plan,
        )
        is_same = newest.fingerprint == fingerprint and (self._job.batch or self._has_same_keys(newest))
        if not is_same and (self._job.batch or newest.plan.get("execution") == "batch"):
            raise CheckpointError(
                f"the checkpoint in {self._storage.location} belongs to another plan, and batch execution keeps no "
                "state that could be carried over. Use the program that wrote it, or another checkpoint directory."
            )
        self.waiting = waiting_output(self._storage, self._log)
        self._refuse_to_lose(self.waiting, self.waiting.unclaimed_by(self._job))
        if is_same:
            if newest.index is not None:
                # Tasks read their own records of it: each may be whole, and all of them those of another epoch.
                self._storage.read_verified(newest.index)
            return described
        if newest.index is None and newest.driver_head is None:
            return described
        # Stores of workers go by incarnation: those of the other plan are no good for this one.
        incarnation = newest.incarnation + 1
        snapshot = CheckpointSnapshot(self._storage, newest)
        snapshot.is_own = True
        epoch = EpochId(incarnation, newest.number + 1)
        restored = self._restored(described, snapshot, epoch, newest.driver_head)
        return replace(restored, incarnation=incarnation)

    def _has_same_keys(self, newest: Manifest) -> bool:
        if newest.plan_path is None:
            return True
        before = {each.uid: each for each in read_plan(self._storage, newest)}
        return not any(each.uid in before and keys_differ(before[each.uid], each) for each in describe_plan(self._job))

    def _restored(self, manifest: Manifest, snapshot: JobSnapshot, epoch: EpochId, driver_head: str | None) -> Manifest:
        state = restore_state(
            snapshot,
            self._job,
            self._storage,
            epoch,
            driver_head,
            allow_non_restored_state=self._recovery.allow_non_restored_state,
            spread=self._spread,
        )
        return replace(
            manifest,
            index=state.index,
            driver_head=state.driver_head,
            next_timer=state.next_timer,
            now=state.now,
            records={"read": state.records_read},
            operator_records=state.operator_records,
            final=state.final and manifest.final,
        )

    def _refuse_other_savepoint(self, newest: Manifest) -> None:
        wanted = self._recovery.savepoint
        if wanted is not None and newest.restored_from != open_storage(wanted).location:
            raise CheckpointError(
                f"the checkpoint directory {self._storage.location} has a job that was not started from the savepoint "
                f"{wanted}. Choose an empty checkpoint directory to start from the savepoint, or leave the savepoint "
                "out to go on with that job."
            )

    def _check_output_before(self, snapshot: JobSnapshot) -> None:
        """What the job before has not published stays where it is."""
        if isinstance(snapshot, CheckpointSnapshot):
            storage = open_storage(snapshot.location)
            waiting = waiting_output(storage, ManifestLog(storage, token=""))
            reason = "a job that starts from there does not publish it"
            self._refuse_to_lose(waiting, dict.fromkeys(waiting.uids, reason))
        elif isinstance(snapshot, SavepointSnapshot) and not snapshot.header.published:
            _logger.warning(
                "it is not known that all output of epoch %d was published before the savepoint in %s was made of it: "
                "this job does not publish it",
                snapshot.header.epoch,
                snapshot.location,
            )

    def _refuse_to_lose(self, waiting: WaitingOutput, reasons: Mapping[str, str]) -> None:
        if reasons and not self._recovery.allow_non_restored_state:
            raise CheckpointError(waiting.told(reasons))


def open_snapshot(location: str) -> JobSnapshot:
    """A savepoint, or the newest manifest of a checkpoint directory."""
    storage = open_storage(location)
    if storage.list("manifests"):
        newest = ManifestLog(storage, token="").read_newest()
        assert newest is not None
        return CheckpointSnapshot(storage, newest.manifest)
    return SavepointSnapshot(storage)


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    return [
        f"  {key}: the checkpoint has {there.get(key)!r}, the program {here.get(key)!r}"
        for key in sorted(set(there) | set(here))
        if there.get(key) != here.get(key)
    ]
