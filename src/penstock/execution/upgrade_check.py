"""Says, before a changed program is started, what it will make of the state of the one before it."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Mapping
from contextlib import suppress

from penstock.common.by_value import pickled_by_value
from penstock.common.configuration import Configuration
from penstock.common.errors import PenstockError, StateError
from penstock.connectors.sink import EpochId
from penstock.engine.epochs.job_snapshot import JobSnapshot
from penstock.engine.epochs.placing import group_of
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
from penstock.runtime.operator import MIN_WATERMARK, OperatorContext
from penstock.runtime.session_state_form import MERGING_WINDOWS, SESSIONS_OF_KEYS
from penstock.runtime.window_state_form import CONTENTS, PANES, SESSIONS
from penstock.state.catalogue import (
    DeclaredState,
    StateDescription,
    is_description,
    listing_declared_states,
    prefix_of,
)
from penstock.state.memory import MemoryStore
from penstock.state.namespaced_keys import namespace_in
from penstock.state.state_evolution import planned_change
from penstock.state.state_keys import PREFIX_BYTES, key_in
from penstock.state.state_schema import UNION_LIST
from penstock.state.storage import CheckpointStorage, open_storage
from penstock.state.type_evolution import IncompatibleTypeError

_OF_WINDOWS = (CONTENTS, SESSIONS_OF_KEYS, MERGING_WINDOWS, PANES, SESSIONS)
"""The state of open windows. Those that were purged have no contents."""


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
    nodes = {node.uid: node for chain in job.chains for node in chain.nodes}
    entries = snapshot.entries({each.uid: each.max_parallelism for each in snapshot.header.operators})
    filled = {key[:PREFIX_BYTES]: key for _, (_, key, _) in entries}
    samples = _samples_of_windows(nodes, snapshot, filled)
    items = upgrade_of_operators(snapshot, job, allow_non_restored_state=allow_non_restored_state)
    spread = _spread_anew(nodes, snapshot)
    items = [spread.pop(item.uid, item) for item in items]
    items += spread.values()
    fitting = {item.uid for item in items if item.outcome in (Outcome.KEPT, Outcome.NEW)}
    stored: dict[str, list[StateDescription]] = {}
    for description in snapshot.descriptions():
        stored.setdefault(description.uid, []).append(description)
    storage = open_storage(old)
    for uid, descriptions in sorted(stored.items()):
        if uid in fitting or (uid in nodes and uid not in {item.uid for item in items}):
            in_columns = [each for each in descriptions if _leaves_columns(nodes[uid], each, filled)]
            items += [_of_columns(nodes[uid], each) for each in in_columns]
            others = [each for each in descriptions if each not in in_columns]
            of_operator = _of_operator(nodes[uid], others, filled, snapshot, job, storage)
            if not in_columns and uid in samples and all(each.outcome is not Outcome.REFUSED for each in of_operator):
                of_operator += _of_windows(nodes[uid], samples[uid], snapshot, job, storage)
            items += of_operator
    return UpgradeReport(snapshot.location, items)


def _spread_anew(nodes: Mapping[str, Node], snapshot: JobSnapshot) -> dict[str, UpgradeItem]:
    """The operators, by uid, whose keys cannot be spread over as many key groups as there are to be."""
    refused: dict[str, UpgradeItem] = {}
    for old in snapshot.header.operators:
        node = nodes.get(old.uid)
        if node is None or node.max_parallelism == old.max_parallelism:
            continue
        try:
            for _ in snapshot.entries({old.uid: node.max_parallelism}):
                pass
        except PenstockError as error:
            refused[old.uid] = UpgradeItem(old.uid, node.name, Outcome.REFUSED, str(error))
    return refused


def _of_operator(
    node: Node,
    stored: list[StateDescription],
    filled: Collection[bytes],
    snapshot: JobSnapshot,
    job: CompiledJob,
    storage: CheckpointStorage,
) -> list[UpgradeItem]:
    try:
        declared = {each.descriptor.name: each for each in _declared_states(node, snapshot, job, storage)}
    except Exception as error:
        reason = _not_known("its function could not be opened here", error)
        return [UpgradeItem(node.uid, node.name, Outcome.KEPT, reason, each.name) for each in stored]
    items = [_of_state(node, each, declared.get(each.name), is_empty=_is_empty(each, filled)) for each in stored]
    known = {each.name for each in stored}
    new = [
        UpgradeItem(node.uid, node.name, Outcome.NEW, "it starts empty", name) for name in declared if name not in known
    ]
    return items + new


def _of_state(node: Node, stored: StateDescription, declared: DeclaredState | None, *, is_empty: bool) -> UpgradeItem:
    if declared is None:
        reason = "and not asked for when the operator is opened"
        return UpgradeItem(node.uid, node.name, Outcome.KEPT, reason, stored.name)
    before, now = stored.schema, declared.schema
    if before.expires != now.expires and (before.expires or not is_empty):
        reason = "a time to live cannot be added or taken away"
        return UpgradeItem(node.uid, node.name, Outcome.REFUSED, reason, stored.name)
    if is_empty:
        return UpgradeItem(node.uid, node.name, Outcome.KEPT, "and there is nothing in it", stored.name)
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


def _is_empty(stored: StateDescription, filled: Collection[bytes]) -> bool:
    """Whether there are no entries; those of union lists are elsewhere."""
    return stored.schema.form != UNION_LIST and prefix_of(stored.uid, stored.name) not in filled


def _leaves_columns(node: Node, stored: StateDescription, filled: Collection[bytes]) -> bool:
    """Whether there are open windows in columns, which the program computes record by record."""
    is_of_records = isinstance(node, WindowNode) and not node.window.is_columnar
    return is_of_records and stored.name in (PANES, SESSIONS) and prefix_of(stored.uid, stored.name) in filled


def _of_columns(node: Node, stored: StateDescription) -> UpgradeItem:
    assert isinstance(node, WindowNode)
    try:
        rows_of_columns(node.window, stored)
    except StateError as error:
        return UpgradeItem(node.uid, node.name, Outcome.REFUSED, f"open windows in columns: {error}", stored.name)
    reason = "open windows in columns go on record by record"
    return UpgradeItem(node.uid, node.name, Outcome.MIGRATED, reason, stored.name)


def _samples_of_windows(
    nodes: Mapping[str, Node], snapshot: JobSnapshot, filled: Mapping[bytes, bytes]
) -> dict[str, dict[bytes, bytes]]:
    """Of operators with open windows: the descriptions of their state, and all that keys of one key group have.

    Each window that is to go on in columns may be none of theirs: there is at least one entry of every one. `filled`
    has a key of each piece of state that is not empty.
    """
    groups: dict[str, int] = {}
    for uid in (uid for uid, node in nodes.items() if isinstance(node, WindowNode)):
        found = [filled[place] for name in _OF_WINDOWS if (place := prefix_of(uid, name)) in filled]
        if found:
            groups[uid] = group_of(found[0])
    samples: dict[str, dict[bytes, bytes]] = {uid: {} for uid in groups}
    max_parallelism = {each.uid: each.max_parallelism for each in snapshot.header.operators if each.uid in groups}
    into_columns = {prefix_of(uid, CONTENTS) for uid in groups if _is_columnar(nodes[uid])}
    # A session is an entry of its key, too, without which it is none.
    into_columns -= {prefix_of(uid, CONTENTS) for uid in groups if prefix_of(uid, SESSIONS_OF_KEYS) in filled}
    seen: set[tuple[str, bytes]] = set()
    if groups:
        for uid, (_, key, value) in snapshot.entries(max_parallelism):
            is_taken = is_description(key) or group_of(key) == groups[uid]
            if key[:PREFIX_BYTES] in into_columns:
                window = uid, namespace_in(key_in(key))
                is_taken = is_taken or window not in seen
                seen.add(window)
            if is_taken:
                samples[uid][key] = value
    return samples


def _is_columnar(node: Node) -> bool:
    return isinstance(node, WindowNode) and node.window.is_columnar


def _of_windows(
    node: Node, entries: Mapping[bytes, bytes], snapshot: JobSnapshot, job: CompiledJob, storage: CheckpointStorage
) -> list[UpgradeItem]:
    """What an operator of windows says that finds these open windows."""
    store = MemoryStore()
    for key, value in entries.items():
        store.put(key, value)
    operator = operator_for(pickle.loads(pickled_by_value(node)))
    assert operator is not None
    try:
        operator.open(_context(node, snapshot, job, storage, store))
        operator.current_watermark = snapshot.header.event_time.get(node.uid, {}).get("watermark", MIN_WATERMARK)
        operator.begin_epoch()
    except StateError as error:
        return [UpgradeItem(node.uid, node.name, Outcome.REFUSED, str(error), "open windows")]
    except Exception as error:
        # What the program does with windows may need more than is here.
        reason = _not_known("its functions failed here", error)
        return [UpgradeItem(node.uid, node.name, Outcome.KEPT, reason, "open windows")]
    finally:
        with suppress(Exception):
            operator.close()
    return []


def _not_known(what: str, error: Exception) -> str:
    return f"not known: {what} ({type(error).__name__}: {error})"


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
    operator = operator_for(pickle.loads(pickled_by_value(node)))
    if operator is None:
        return []
    context = _context(node, snapshot, job, storage, MemoryStore())
    with listing_declared_states() as found:
        operator.open(context)
    with suppress(Exception):
        operator.close()
    return found


def _context(
    node: Node, snapshot: JobSnapshot, job: CompiledJob, storage: CheckpointStorage, store: MemoryStore
) -> OperatorContext:
    return OperatorContext(
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
        store=store,
        storage=storage,
        metrics=MetricGroup(),
        epoch=EpochId(0, 0),
        staging="",
        processing_time=snapshot.header.now,
    )
