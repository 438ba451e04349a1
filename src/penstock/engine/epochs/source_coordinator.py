"""The driver's side of all sources: asks enumerators what to read, numbers splits, records how far readers came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.common.errors import SourceError
from penstock.connectors.source import EnumeratorContext, EpochBudget, SplitEnumerator, SplitRead
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.epoch_header import PlannedRead
from penstock.engine.stages.messages import ReadProgress
from penstock.plan.nodes import SourceNode

_UNLIMITED = 1 << 60
_READS_PER_TASK = 4


@dataclass(frozen=True)
class EpochInput:
    """What an epoch reads, and which sources end with it."""

    reads: tuple[PlannedRead, ...]
    ended: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.reads or self.ended)


class SourceCoordinator:
    """Holds the enumerators of one run. After a failed epoch a new one is made from the last manifest."""

    def __init__(self, job: CompiledJob, state: DriverState, budget: EpochBudget, *, bounded: bool) -> None:
        self._budget = budget
        self._bounded = bounded
        self._splits = state.namespace("splits")
        """split number by "uid/split id", for splits that have not finished."""
        self._counter = state.namespace("split-counter")
        self._ended = state.namespace("ended-sources")
        self._nodes: dict[int, SourceNode] = {}
        self._enumerators: dict[int, SplitEnumerator] = {}
        for node_id, chain in job.source_chains.items():
            node = chain.head
            assert isinstance(node, SourceNode)
            self._nodes[node_id] = node
            if node.uid not in self._ended:
                context = EnumeratorContext(state.namespace(f"source/{node.uid}"), node.parallelism, bounded)
                self._enumerators[node_id] = node.source.create_enumerator(context)

    @property
    def all_ended(self) -> bool:
        """Whether every source has ended in a committed epoch."""
        return not self._enumerators

    def plan(self, now: int) -> EpochInput:
        """What the next epoch reads; empty when there is nothing to do."""
        reads: list[PlannedRead] = []
        ended: list[int] = []
        for node_id, enumerator in self._enumerators.items():
            orders = self._poll(self._nodes[node_id], enumerator, now)
            reads += [PlannedRead(node_id, self._number(node_id, order.split_id), order) for order in orders]
            if enumerator.is_exhausted() and all(order.finishes for order in orders):
                ended.append(node_id)
        return EpochInput(tuple(reads), tuple(ended))

    def committing(self, epoch_input: EpochInput, progress: Sequence[ReadProgress]) -> None:
        """The epoch has been worked through and is about to be committed."""
        for read in progress:
            node = self._nodes[read.source]
            self._enumerators[read.source].advanced(read.split_id, read.position, read.finished)
            if read.finished:
                del self._splits[f"{node.uid}/{read.split_id}"]
        for node_id in epoch_input.ended:
            self._ended[self._nodes[node_id].uid] = True
            self._enumerators.pop(node_id).close()

    def next_poll(self, now: int) -> int | None:
        """When it is worth asking the sources again."""
        return min((enumerator.next_poll(now) for enumerator in self._enumerators.values()), default=None)

    def lag(self) -> dict[str, int]:
        """Records that wait to be read, by the uid of the source, where it is known."""
        known = {self._nodes[node_id].uid: each.lag() for node_id, each in self._enumerators.items()}
        return {uid: lag for uid, lag in known.items() if lag is not None}

    def close(self) -> None:
        """Lets go of the enumerators' connections."""
        for enumerator in self._enumerators.values():
            enumerator.close()

    def _poll(self, node: SourceNode, enumerator: SplitEnumerator, now: int) -> list[SplitRead]:
        if not self._bounded:
            share = max(1, len(self._enumerators))
            budget = replace(
                self._budget,
                max_records=max(1, self._budget.max_records // share),
                max_bytes=max(1, self._budget.max_bytes // share),
            )
            return enumerator.poll(now, budget)
        everything = replace(self._budget, max_records=_UNLIMITED, max_bytes=_UNLIMITED)
        orders: list[SplitRead] = []
        while more := enumerator.poll(now, everything):
            orders += more
        if not enumerator.is_exhausted():
            raise SourceError(
                f"the source '{node.name}' (uid {node.uid}, {node.call_site}) does not end, but batch execution reads "
                "everything at once. Use streaming execution, or bound the source."
            )
        return orders

    def _number(self, node_id: int, split_id: str) -> int:
        key = f"{self._nodes[node_id].uid}/{split_id}"
        number = self._splits.get(key)
        if number is None:
            number = self._counter.get("next", 0)
            self._counter["next"] = number + 1
            self._splits[key] = number
        return number


def assign_to_tasks(reads: Sequence[PlannedRead], parallelism: int, *, bounded: bool) -> list[list[PlannedRead]]:
    """Spreads reads over the tasks of stage 0, largest first, each task's reads in ascending split order."""
    count = parallelism
    if bounded:
        count = max(parallelism, -(-len(reads) // _READS_PER_TASK))
    tasks: list[list[PlannedRead]] = [[] for _ in range(count)]
    loads = [0] * count
    for planned in sorted(reads, key=lambda planned: (-planned.read.size, planned.split)):
        # Equal loads: by split number, so that a split tends to meet the same task (and its open connection) again.
        preferred = planned.split % count
        task = min(range(count), key=lambda i: (loads[i], (i - preferred) % count))
        tasks[task].append(planned)
        loads[task] += max(1, planned.read.size)
    for task in tasks:
        task.sort(key=lambda planned: planned.split)
    return tasks
