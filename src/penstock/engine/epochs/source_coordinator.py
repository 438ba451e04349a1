"""The driver's side of all sources: asks enumerators what to read, numbers splits, records how far readers came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.common.errors import SourceError
from penstock.connectors.source import EnumeratorContext, EpochBudget, SplitEnumerator, SplitRead
from penstock.engine.epochs.driver_state import DRAINED, DriverState
from penstock.engine.epochs.event_time import EventTime, watermarks_of
from penstock.engine.epochs.split_times import SourceTimes, splits_to_hold
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.envelope import SOURCE_SENDER
from penstock.engine.stages.epoch_header import PlannedRead
from penstock.engine.stages.messages import Done, ReadProgress
from penstock.plan.nodes import SourceNode

_NEARLY_ALL = 0.8
"""Budgets are estimates of bytes and shares of splits: an epoch that has used so much of one has used it up."""


@dataclass(frozen=True)
class EpochInput:
    """What an epoch reads, and which sources end with it."""

    reads: tuple[PlannedRead, ...]
    ended: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.reads or self.ended)


class SourceCoordinator:
    """Holds the enumerators of one run. After a failed epoch a new one is made from the last manifest."""

    def __init__(
        self,
        job: CompiledJob,
        state: DriverState,
        budget: EpochBudget,
        *,
        bounded: bool,
        watermark_interval: int = 200,
    ) -> None:
        self._budget = budget
        self._bounded = bounded
        self._is_draining = False
        self._splits = state.namespace("splits")
        """split number by "uid/split id", for splits that have not finished."""
        self._counter = state.namespace("split-counter")
        self._ended = state.namespace("ended-sources")
        self._nodes: dict[int, SourceNode] = {}
        self._enumerators: dict[int, SplitEnumerator] = {}
        self._times: dict[int, SourceTimes] = {}
        """Of the sources that have watermarks; batch execution knows only the end of time."""
        for node_id, chain in job.source_chains.items():
            node = chain.head
            assert isinstance(node, SourceNode)
            self._nodes[node_id] = node
            if node.uid not in self._ended:
                kept = state.namespace(f"source/{node.uid}")
                context = EnumeratorContext(kept, node.parallelism, bounded, node.name, node.uid, str(node.call_site))
                self._enumerators[node_id] = node.source.create_enumerator(context)
                if node.watermark_strategy is not None and not bounded:
                    self._times[node_id] = SourceTimes(node, node.watermark_strategy, state, watermark_interval)

    @property
    def all_ended(self) -> bool:
        """Whether every source has ended in a committed epoch."""
        return not self._enumerators

    def plan(self, now: int, budget: EpochBudget | None = None) -> EpochInput:
        """What the next epoch reads, within a budget of its own; empty when there is nothing to do."""
        self._budget = budget or self._budget
        reads: list[PlannedRead] = []
        ended: list[int] = []
        held = splits_to_hold(self._times)
        for node_id, enumerator in self._enumerators.items():
            orders = self._poll_unless_held(node_id, enumerator, held.get(node_id, set()), now)
            reads += [self._planned(node_id, order.split_id, order) for order in orders]
            if enumerator.is_exhausted() and (self._bounded or all(order.finishes for order in orders)):
                ended.append(node_id)
        reads += self._without_reads({(read.source, read.split_id) for read in reads}, set(ended), held, now)
        return EpochInput(tuple(reads), tuple(ended))

    def drain(self) -> EpochInput:
        """Ends all sources where they are: event time goes to its end. Their positions stay."""
        self._is_draining = True
        return EpochInput((), tuple(self._enumerators))

    def has_caught_up(self, lag: Mapping[str, int]) -> bool:
        """Whether what was planned last is all that there is; unknown where a source does not know its lag."""
        return len(lag) == len(self._enumerators) and not any(lag.values())

    def is_behind(self, lag: Mapping[str, int], records: int) -> bool:
        """Whether there was more to read than the epoch that has read so many records was allowed to."""
        is_known = len(lag) >= len(self._enumerators)
        return any(lag.values()) or (not is_known and records >= _NEARLY_ALL * self._budget.max_records)

    def waits(self, lag: Mapping[str, int], records: int, seconds: float) -> dict[str, float]:
        """How long each source waited in an epoch that did not read for so long; not at all, if nothing was left."""
        is_behind = self.is_behind(lag, records)
        return {
            node.uid: seconds if (lag[node.uid] > 0 if node.uid in lag else is_behind) else 0.0
            for node_id, node in self._nodes.items()
            if node_id in self._enumerators
        }

    def _poll_unless_held(self, node_id: int, enumerator: SplitEnumerator, held: set[str], now: int) -> list[SplitRead]:
        """Splits that are ahead of their group are not read, where the source can read others without them."""
        times = self._times.get(node_id)
        if times is not None and times.strategy.alignment is not None:
            times.hold(held, now)
            if held and held == set(times.live):
                return []
            enumerator.hold_back(held)
        return self._poll(self._nodes[node_id], enumerator, now)

    def _without_reads(
        self, read: set[tuple[int, str]], ended: set[int], held: Mapping[int, set[str]], now: int
    ) -> list[PlannedRead]:
        """Splits in which time passes though nothing is read of them; an epoch tells consumers of new ones too."""
        planned: list[PlannedRead] = []
        running = {node_id: times for node_id, times in self._times.items() if node_id not in ended}
        for node_id, times in running.items():
            times.found(self._enumerators[node_id].live_splits(), now)
            waits = held.get(node_id, set())
            planned += [
                self._planned(node_id, split)
                for split in times.due(now)
                if (node_id, split) not in read and split not in waits
            ]
            if times.falls_silent(now, reads=any(source == node_id for source, _ in read)):
                planned.append(PlannedRead(node_id, SOURCE_SENDER, "", None))
        if read or planned or ended:
            told = read | {(each.source, each.split_id) for each in planned}
            planned += [
                self._planned(node_id, split)
                for node_id, times in running.items()
                for split in times.unread
                if (node_id, split) not in told
            ]
        return planned

    def _planned(self, node_id: int, split_id: str, order: SplitRead | None = None) -> PlannedRead:
        times = self._times.get(node_id)
        time = None if times is None else times.of(split_id)
        return PlannedRead(
            node_id, self._number(node_id, split_id), split_id, order, None if time is None else time.to_json()
        )

    def committing(self, epoch_input: EpochInput, progress: Sequence[ReadProgress]) -> None:
        """The epoch has been worked through and is about to be committed."""
        was_read = {(planned.source, planned.split_id) for planned in epoch_input.reads if planned.read is not None}
        for read in progress:
            node = self._nodes[read.source]
            if read.source in self._times:
                self._times[read.source].committing(read)
            if (read.source, read.split_id) not in was_read:
                continue
            self._enumerators[read.source].advanced(read.split_id, read.position, read.finished)
            if read.finished:
                del self._splits[f"{node.uid}/{read.split_id}"]
        for node_id in epoch_input.ended:
            self._ended[self._nodes[node_id].uid] = DRAINED if self._is_draining else True
            self._enumerators.pop(node_id).close()
            if node_id in self._times:
                self._times.pop(node_id).ended()

    def next_poll(self, now: int) -> int | None:
        """When it is worth asking the sources again, or time passes in a split without records."""
        polls = [enumerator.next_poll(now) for enumerator in self._enumerators.values()]
        polls += [due for times in self._times.values() if (due := times.next_due()) is not None]
        return min(polls, default=None)

    def event_time(self, done: Sequence[Done], now: int) -> EventTime:
        """How far event time has come in every split and operator, after an epoch."""
        return EventTime(
            subtasks=watermarks_of(done),
            idle=frozenset((uid, message.subtask) for message in done for uid in message.idle),
            splits={times.node.uid: times.live for times in self._times.values()},
            ended_sources=frozenset(self._ended),
            silent_sources=frozenset(times.node.uid for times in self._times.values() if times.is_silent),
            now=now,
        )

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
        orders: list[SplitRead] = []
        while more := enumerator.poll(now, self._budget):
            orders += more
        if len({order.split_id for order in orders}) < len(orders):
            raise SourceError(
                f"the source '{node.name}' (uid {node.uid}, {node.call_site}) orders a split to be read in several "
                "parts, but batch execution reads everything at once. Make its enumerator order each split as a whole "
                "where the budget allows it."
            )
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


def assign_to_tasks(job: CompiledJob, reads: Sequence[PlannedRead]) -> list[list[PlannedRead]]:
    """Spreads reads over the tasks of stage 0, largest first, each task's reads in ascending split order.

    A task is a subtask of every source that has so many.
    """
    tasks: list[list[PlannedRead]] = [[] for _ in range(job.stage_parallelism[0])]
    loads = [0] * len(tasks)
    for planned in sorted(reads, key=lambda planned: (-planned.size, planned.split)):
        count = job.source_chains[planned.source].parallelism
        # Equal loads: by split number, so that a split tends to meet the same task (and its open connection) again.
        preferred = planned.split % count
        task = min(range(count), key=lambda i: (loads[i], (i - preferred) % count))
        tasks[task].append(planned)
        loads[task] += max(1, planned.size)
    for task in tasks:
        task.sort(key=lambda planned: planned.split)
    return tasks
