"""What becomes of the state of a job when a changed program takes it up: what is kept, dropped, refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.common.errors import CheckpointError
from penstock.engine.epochs.job_snapshot import JobSnapshot
from penstock.engine.epochs.plan_description import describe_plan, keys_differ
from penstock.engine.stages.compiled import CompiledJob
from penstock.plan.nodes import Node, SourceNode
from penstock.state.savepoints.header import OperatorDescription


class Outcome(Enum):
    """What happens to something that is stored."""

    KEPT = "kept"
    MIGRATED = "migrated"
    NEW = "new"
    """The program has it and the stored job does not: it starts empty."""
    DROPPED = "dropped"
    REFUSED = "refused"


@dataclass(frozen=True)
class UpgradeItem:
    """One operator, or one piece of its state."""

    uid: str
    name: str
    """Of the operator."""
    outcome: Outcome
    reason: str = ""
    state: str | None = None
    """The name of the state; None for the operator as a whole."""

    def __str__(self) -> str:
        what = f"operator '{self.name}' (uid {self.uid})" if self.name else f"operator with uid {self.uid}"
        if self.state is not None:
            what = f"state '{self.state}' of {what}"
        return f"{what}: {self.outcome.value}{f', {self.reason}' if self.reason else ''}"


def check_upgrade(snapshot: JobSnapshot, job: CompiledJob, *, allow_non_restored_state: bool) -> None:
    """Raises `CheckpointError` with a list of all that does not fit."""
    refused = [
        item
        for item in upgrade_of_operators(snapshot, job, allow_non_restored_state=allow_non_restored_state)
        if item.outcome is Outcome.REFUSED
    ]
    if refused:
        raise CheckpointError(
            f"the state in {snapshot.location} does not fit the program:\n"
            + "\n".join(f"  {item}" for item in refused)
            + "\nUse the program that wrote it, give its operators the uids that they had, or allow that state is "
            "left behind (execution.savepoint.ignore-unclaimed-state)."
        )


def upgrade_of_operators(
    snapshot: JobSnapshot, job: CompiledJob, *, allow_non_restored_state: bool = False
) -> list[UpgradeItem]:
    """What happens to each operator; all entries of the snapshot have been taken, or are not needed for that."""
    nodes = {node.uid: node for chain in job.chains for node in chain.nodes}
    now = {each.uid: each for each in describe_plan(job)}
    with_state = snapshot.uids_with_state()
    left = Outcome.DROPPED if allow_non_restored_state else Outcome.REFUSED
    items: list[UpgradeItem] = []
    for old in snapshot.header.operators:
        node = nodes.get(old.uid)
        if node is None:
            if old.uid in with_state:
                hint = "" if old.uid_is_given else "; its uid was derived from the plan: set uids to change a program"
                items.append(UpgradeItem(old.uid, old.name, left, f"the program has no such operator{hint}"))
            continue
        if old.uid in with_state:
            has_timers = old.uid in snapshot.uids_with_timers()
            reason = (
                _misfit(old, node, has_timers=has_timers)
                or _other_keys(old, now[old.uid])
                or _lost_files(snapshot, old.uid)
            )
            items.append(
                UpgradeItem(old.uid, old.name or node.name, Outcome.REFUSED if reason else Outcome.KEPT, reason)
            )
    known = {old.uid for old in snapshot.header.operators}
    items += [
        UpgradeItem(uid, node.name, Outcome.NEW, "it starts without state")
        for uid, node in nodes.items()
        if uid not in known
    ]
    if snapshot.is_batch and not job.batch:
        items.append(UpgradeItem("", job.name, Outcome.REFUSED, "batch execution has kept no state that could go on"))
    if job.batch:
        items.append(UpgradeItem("", job.name, Outcome.REFUSED, "batch execution takes up no state"))
    return items


def _other_keys(old: OperatorDescription, new: OperatorDescription) -> str:
    if not keys_differ(old, new):
        return ""
    return f"its keys were {old.key} and are {new.key} now; with another uid it starts without state"


def _lost_files(snapshot: JobSnapshot, uid: str) -> str:
    source = snapshot.header.sources.get(uid)
    if snapshot.is_own or source is None or source.ended or not any("/dataframes/uid-" in key for key in source.state):
        return ""
    return (
        "it reads a Spark DataFrame, whose rows are in the checkpoint of the other job and not in a savepoint: go on "
        "from that checkpoint, or let the DataFrame be read to its end first"
    )


_IN_BATCHES = {"KeyedProcess": "KeyedBatches", "CoProcess": "KeyedCoBatches"}
"""Functions that are called for every record, and those that are called for batches with the same state."""

_IN_PIPELINED_MODE = "FollowedSource"
"""What older programs have put down in that mode, whatever source it was."""


def _misfit(old: OperatorDescription, node: Node, *, has_timers: bool) -> str:
    if has_timers and _IN_BATCHES.get(old.kind) == node.kind:
        return f"it was a {old.kind} with timers, and is a {node.kind} now, which has none"
    if old.kind and old.kind not in (node.kind, _IN_BATCHES.get(node.kind)) and _IN_BATCHES.get(old.kind) != node.kind:
        return f"it was a {old.kind} and is a {node.kind} now"
    is_known = old.source not in ("", _IN_PIPELINED_MODE)
    if is_known and isinstance(node, SourceNode) and node.source.position_kind != old.source:
        return f"it read a {old.source} and reads a {node.source.position_kind} now: positions do not fit"
    if node.parallelism > node.max_parallelism:
        return f"its parallelism {node.parallelism} is above the max parallelism {node.max_parallelism}"
    return ""
