"""Says, before a changed program is started, what it will make of the state of the one before it."""

from __future__ import annotations

from contextlib import suppress

import cloudpickle

from penstock.common.configuration import Configuration
from penstock.common.errors import StateError
from penstock.connectors.sink import EpochId
from penstock.engine.epochs.job_snapshot import JobSnapshot
from penstock.engine.epochs.starting_state import open_snapshot
from penstock.engine.epochs.upgrade import Outcome, UpgradeItem, upgrade_of_operators
from penstock.engine.stages.compiled import CompiledJob, compile_plan
from penstock.engine.stages.lowering import operator_for
from penstock.execution.submit import plan_to_run
from penstock.plan.nodes import Node
from penstock.plan.plan import Plan
from penstock.plan.window_node import WindowNode
from penstock.runtime.columnar_windows.column_state import rows_of_columns
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.operator import OperatorContext
from penstock.runtime.window_state_form import PANES, SESSIONS
from penstock.state.catalogue import DeclaredState, StateDescription, listing_declared_states, prefix_of
from penstock.state.memory import MemoryStore
from penstock.state.state_evolution import planned_change
from penstock.state.state_keys import PREFIX_BYTES
from penstock.state.storage import CheckpointStorage, open_storage
from penstock.state.type_evolution import IncompatibleTypeError


class UpgradeReport:
    """What will be kept, migrated, dropped and refused."""

    def __init__(self, location: str, items: list[UpgradeItem]) -> None:
        self.location = location
        self.items = tuple(items)

    @property
    def is_possible(self) -> bool:
        """Whether nothing is refused."""
        return not self.of(Outcome.REFUSED)

    def of(self, outcome: Outcome) -> list[UpgradeItem]:
        """The items of one outcome."""
        return [item for item in self.items if item.outcome is outcome]

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.of(each))} {each.value}" for each in Outcome if self.of(each))
        return "\n".join([f"{self.location}: {counts or 'no state'}", *(f"  {item}" for item in self.items)])


def check_upgrade(
    old: str, plan: Plan, configuration: Configuration | None = None, *, allow_non_restored_state: bool = False
) -> UpgradeReport:
    """Compares a savepoint, or a checkpoint directory, with a program's plan.

    To learn which state the program declares, its functions are opened, as in a worker, on copies; nothing else runs.
    """
    optimized = plan_to_run(plan, configuration or Configuration())
    return check_upgrade_of(old, optimized, allow_non_restored_state=allow_non_restored_state)


def check_upgrade_of(old: str, optimized: Plan, *, allow_non_restored_state: bool = False) -> UpgradeReport:
    """The same for a plan as it runs."""
    job = compile_plan(optimized)
    snapshot = open_snapshot(old)
    entries = snapshot.entries({each.uid: each.max_parallelism for each in snapshot.header.operators})
    filled = {key[:PREFIX_BYTES] for _, (_, key, _) in entries}
    items = upgrade_of_operators(snapshot, job, allow_non_restored_state=allow_non_restored_state)
    fitting = {item.uid for item in items if item.outcome in (Outcome.KEPT, Outcome.NEW)}
    nodes = {node.uid: node for chain in job.chains for node in chain.nodes}
    stored: dict[str, list[StateDescription]] = {}
    for description in snapshot.descriptions():
        stored.setdefault(description.uid, []).append(description)
    storage = open_storage(old)
    for uid, descriptions in sorted(stored.items()):
        if uid in fitting or (uid in nodes and uid not in {item.uid for item in items}):
            in_columns = [each for each in descriptions if _leaves_columns(nodes[uid], each, filled)]
            items += [_of_columns(nodes[uid], each) for each in in_columns]
            others = [each for each in descriptions if each not in in_columns]
            items += _of_operator(nodes[uid], others, snapshot, job, storage)
    return UpgradeReport(snapshot.location, items)


def _of_operator(
    node: Node, stored: list[StateDescription], snapshot: JobSnapshot, job: CompiledJob, storage: CheckpointStorage
) -> list[UpgradeItem]:
    try:
        declared = {each.descriptor.name: each for each in _declared_states(node, snapshot, job, storage)}
    except Exception as error:
        reason = f"not known: its function could not be opened here ({type(error).__name__}: {error})"
        return [UpgradeItem(node.uid, node.name, Outcome.KEPT, reason, each.name) for each in stored]
    items = [_of_state(node, each, declared.get(each.name)) for each in stored]
    known = {each.name for each in stored}
    new = [
        UpgradeItem(node.uid, node.name, Outcome.NEW, "it starts empty", name) for name in declared if name not in known
    ]
    return items + new


def _of_state(node: Node, stored: StateDescription, declared: DeclaredState | None) -> UpgradeItem:
    if declared is None:
        reason = "and not asked for when the operator is opened"
        return UpgradeItem(node.uid, node.name, Outcome.KEPT, reason, stored.name)
    before, now = stored.schema, declared.schema
    if before.expires != now.expires:
        reason = "a time to live cannot be added or taken away"
        return UpgradeItem(node.uid, node.name, Outcome.REFUSED, reason, stored.name)
    try:
        change = planned_change(before, now, declared.descriptor)
    except IncompatibleTypeError as error:
        return UpgradeItem(node.uid, node.name, Outcome.REFUSED, str(error), stored.name)
    if change is None and before.value == now.value:
        return UpgradeItem(node.uid, node.name, Outcome.KEPT, "", stored.name)
    if before.version != now.version:
        reason = f"version {before.version} to {now.version}"
    else:
        type_info = declared.descriptor.type_info
        reason = f"{stored.type} to {'object' if type_info is None else type_info}"
    return UpgradeItem(node.uid, node.name, Outcome.MIGRATED, reason, stored.name)


def _leaves_columns(node: Node, stored: StateDescription, filled: set[bytes]) -> bool:
    """Whether there are open windows in columns, which the program computes record by record."""
    is_of_records = isinstance(node, WindowNode) and not node.window.is_columnar
    return is_of_records and stored.name in (PANES, SESSIONS) and prefix_of(stored.uid, stored.name) in filled


def _of_columns(node: Node, stored: StateDescription) -> UpgradeItem:
    assert isinstance(node, WindowNode)
    try:
        rows_of_columns(node.window, stored.name, stored.kind)
    except StateError as error:
        return UpgradeItem(node.uid, node.name, Outcome.REFUSED, f"open windows in columns: {error}", stored.name)
    reason = "open windows in columns go on record by record"
    return UpgradeItem(node.uid, node.name, Outcome.MIGRATED, reason, stored.name)


class _Nowhere:
    """Takes what an operator emits while it is opened."""

    def emit(self, batch: object) -> None:
        """Drops it."""

    def emit_side(self, tag: str, batch: object) -> None:
        """Drops it."""

    def emit_watermark(self, watermark: int) -> None:
        """Drops it."""

    def emit_idle(self) -> None:
        """Drops it."""


def _declared_states(
    node: Node, snapshot: JobSnapshot, job: CompiledJob, storage: CheckpointStorage
) -> list[DeclaredState]:
    operator = operator_for(cloudpickle.loads(cloudpickle.dumps(node)))
    if operator is None:
        return []
    context = OperatorContext(
        job_id=snapshot.header.job_id,
        job_name=job.name,
        name=node.name,
        uid=node.uid,
        subtask=0,
        parallelism=node.parallelism,
        max_parallelism=node.max_parallelism,
        attempt=0,
        call_site=str(node.call_site),
        output=_Nowhere(),
        store=MemoryStore(),
        storage=storage,
        metrics=MetricGroup(),
        epoch=EpochId(0, 0),
        staging="",
        processing_time=snapshot.header.now,
    )
    with listing_declared_states() as found:
        operator.open(context)
    with suppress(Exception):
        operator.close()
    return found
