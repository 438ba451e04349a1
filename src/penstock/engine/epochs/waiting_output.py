"""Output that may still have to be published: that of the newest epoch, and what sinks hold back for later ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from penstock.common.errors import CheckpointError
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.epochs.manifest import Manifest, manifest_hash
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.engine.epochs.plan_description import read_plan
from penstock.engine.stages.compiled import CompiledJob
from penstock.plan.nodes import SinkNode
from penstock.state.savepoints.header import OperatorDescription
from penstock.state.storage import CheckpointStorage

_NOTES = "published"


def note_published(storage: CheckpointStorage, manifest: Manifest) -> None:
    """Puts down that all output of an epoch is out: a driver that ends a job knows that, and nobody after it would."""
    path = _note_of(manifest)
    # Without the note a changed program has to be told that it may go on; that is no reason for a job to fail.
    with suppress(CheckpointError):
        for older in storage.list(_NOTES):
            if older != path:
                storage.delete(older)
        storage.put_if_absent(path, b"")


def is_published(storage: CheckpointStorage, manifest: Manifest) -> bool:
    """Whether it is known that all output of the newest epoch is out."""
    return _note_of(manifest) in storage.list(_NOTES)


def sinks_that_hold_output(storage: CheckpointStorage, manifest: Manifest, head: str | None) -> tuple[str, ...]:
    """The uids of a manifest's sinks that hold output back, such as files that are not full yet.

    It is published with a savepoint. `head` is what the driver remembers.
    """
    if head is None:
        return ()
    state = DriverState(storage, head)
    return tuple(uid for uid in manifest.operator_uids if any(map(_holds, held_output(state, uid).values())))


def held_output(state: DriverState, uid: str) -> MutableMapping[str, Any]:
    """What a sink remembers in the driver: what it holds back."""
    return state.namespace(f"sink/{uid}")


@dataclass(frozen=True)
class WaitingOutput:
    """What a checkpoint has of it."""

    location: str
    epoch: int = 0
    """The newest one."""
    staged: tuple[str, ...] = ()
    """The uids of sinks that have output in it of which it is not known that it was published."""
    held: tuple[str, ...] = ()
    """Those of sinks that hold output back."""
    sinks: Mapping[str, OperatorDescription] = field(default_factory=dict[str, OperatorDescription])
    """The operators of the plan by uid; none where an older Penstock has not put them down."""

    @property
    def uids(self) -> list[str]:
        """Those of all sinks that have some."""
        return sorted({*self.staged, *self.held})

    def unclaimed_by(self, job: CompiledJob) -> dict[str, str]:
        """The sinks of which a program could not publish it, by uid, with the reason."""
        nodes = {node.uid: node for chain in job.chains for node in chain.nodes if isinstance(node, SinkNode)}
        found: dict[str, str] = {}
        for uid in self.uids:
            before = self.sinks[uid].sink if uid in self.sinks else ""
            if uid not in nodes:
                found[uid] = "the program does not have it any more"
            elif before not in ("", now := nodes[uid].sink.output_kind):
                found[uid] = f"it was another one, '{before}', and is now '{now}'"
        return found

    def told(self, reasons: Mapping[str, str]) -> str:
        """Why a program that cannot publish it is refused, and what can be done."""
        cure = "stop it with a savepoint, which publishes all of it" if self.held else "stop it"
        return (
            f"{self.location} has output that it is not known to have published, and that would be lost:\n"
            + "\n".join(f"  {self._line(uid)}; {reason}" for uid, reason in reasons.items())
            + f"\nStart the program that wrote it once more, with this checkpoint directory, and {cure}; or allow that "
            "it is left behind (execution.savepoint.ignore-unclaimed-state)."
        )

    def _line(self, uid: str) -> str:
        name = f"the sink '{self.sinks[uid].name}' (uid {uid})" if uid in self.sinks else f"the sink with uid {uid}"
        return f"{name} {'holds output back' if uid in self.held else f'has output of epoch {self.epoch}'}"


def waiting_output(storage: CheckpointStorage, log: ManifestLog) -> WaitingOutput:
    """What a checkpoint directory has of it."""
    epoch, newest = log.newest_epoch(), log.read_newest()
    if epoch is None or newest is None:
        return WaitingOutput(storage.location)
    staged: tuple[str, ...] = ()
    if epoch.tokens is not None and not is_published(storage, epoch):
        staged = tuple(json.loads(storage.read_verified(epoch.tokens)))
    held = sinks_that_hold_output(storage, epoch, newest.manifest.driver_head)
    operators = read_plan(storage, epoch) if (staged or held) and epoch.plan_path is not None else ()
    return WaitingOutput(storage.location, epoch.number, staged, held, {each.uid: each for each in operators})


def _note_of(manifest: Manifest) -> str:
    # Not by the number of the epoch: where manifests were removed, another epoch may get the same.
    return f"{_NOTES}/{manifest_hash(manifest.to_bytes())}"


def _holds(value: object) -> bool:
    return bool(value) if isinstance(value, dict | list) else False
