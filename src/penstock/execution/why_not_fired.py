"""Why timers and windows wait: what holds the watermark of an operator back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.common.errors import ConfigurationError
from penstock.engine.epochs.event_time import EventTime, shown
from penstock.plan.batch_nodes import MapBatchesNode
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import Node, SinkNode, SourceNode, StatelessNode, TimestampsAndWatermarksNode
from penstock.plan.plan import Plan
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK

_SILENCE_MS = 1_000
"""Who has sent nothing for so long may be left out; before that it is slow at most."""


@dataclass(frozen=True)
class WatermarkHolder:
    """A split of a source, or a subtask that makes watermarks, for which an operator waits."""

    name: str
    uid: str
    part: str
    """The split, or the number of the subtask; empty for a source as a whole."""
    watermark: int | None
    """How far it has come, in ms; None where it has not sent a watermark yet."""
    behind_ms: int | None
    """How far it is behind the furthest that the operator waits for; None where one of the two has no watermark."""
    idle_timeout_ms: int | None
    """After how long a silence it is left out; None: never."""
    idle_in_ms: int | None
    """How much of that time is left, if no record comes."""
    released_by_idleness: bool
    """Whether event time goes on when it stays silent for long enough: somebody must be ahead of it."""
    explanation: str

    def __str__(self) -> str:
        return self.explanation


@dataclass(frozen=True)
class WhyNotFired:
    """The watermark of an operator, and who holds it back."""

    name: str
    uid: str
    watermark: int | None
    """In ms; None where there is none yet."""
    holders: tuple[WatermarkHolder, ...]
    """Empty when event time has come to its end, or all is idle."""
    idle: tuple[str, ...] = ()
    """What is idle, in words, where all that could bring event time on is."""

    @property
    def is_idle(self) -> bool:
        """Whether event time stands because nothing is to be expected from anywhere."""
        return bool(self.idle)

    def __str__(self) -> str:
        reached = "has no watermark yet" if self.watermark is None else f"has the watermark {self.watermark}"
        if self.watermark == MAX_WATERMARK:
            return f"'{self.name}' (uid {self.uid}): all of its input has ended, and everything has fired"
        if self.is_idle:
            waits = f"All {' and all '.join(self.idle)} are idle: event time goes on when one of them has records again"
        else:
            waits = "It waits for:" + "".join(f"\n  - {holder}" for holder in self.holders)
        return f"'{self.name}' (uid {self.uid}) {reached}. {waits}"


def explain_watermarks(plan: Plan, event_time: EventTime, uid_or_name: str | None) -> list[WhyNotFired]:
    """One explanation for each operator that is asked for, or that may wait for event time."""
    if uid_or_name is None:
        passing = SourceNode | SinkNode | StatelessNode | ExpressionNode | MapBatchesNode | TimestampsAndWatermarksNode
        nodes = [node for node in plan.topological_order if not isinstance(node, passing)]
    else:
        nodes = [node for node in plan.topological_order if uid_or_name in (node.uid, node.name)]
        if not nodes:
            there = ", ".join(f"'{node.name}' ({node.uid})" for node in plan.topological_order)
            raise ConfigurationError(f"no operator has the uid or name {uid_or_name!r}; there are: {there}")
    return [_explain(plan, event_time, node) for node in nodes]


def _explain(plan: Plan, event_time: EventTime, node: Node) -> WhyNotFired:
    everyone = list(_makers(plan, node, event_time))
    makers = [maker for maker in everyone if not maker.idle]
    furthest = max((maker.watermark for maker in makers), default=MIN_WATERMARK)
    least = min((maker.watermark for maker in makers), default=MAX_WATERMARK)
    holders = [maker for maker in makers if maker.watermark == least < MAX_WATERMARK]
    reached = event_time.of_operator(node.uid)
    # Without the holders: the least of the others, or where all are idle the greatest of all.
    without = min((maker.watermark for maker in makers if maker.watermark > least), default=None)
    if without is None:
        without = max((maker.watermark for maker in everyone), default=MIN_WATERMARK)
    would_move = without > max(least, MIN_WATERMARK if reached is None else reached)
    return WhyNotFired(
        node.name,
        node.uid,
        reached,
        tuple(_holder(holder, furthest, event_time.now, would_move=would_move) for holder in holders),
        () if makers else _idle_in_words(everyone),
    )


@dataclass(frozen=True)
class _Maker:
    """Something that makes watermarks."""

    node: SourceNode | TimestampsAndWatermarksNode
    part: str
    watermark: int
    quiet_since: int | None = None
    idle: bool = False


def _makers(plan: Plan, node: Node, event_time: EventTime) -> Iterator[_Maker]:
    """All that the watermark of an operator is made of, nearest first; what is behind an operator that makes its own
    watermarks does not matter."""
    pending, seen = [node.id], set[int]()
    while pending:
        current = plan.node(pending.pop())
        if current.id in seen:
            continue
        seen.add(current.id)
        if isinstance(current, SourceNode):
            yield from _splits(current, event_time)
        elif isinstance(current, TimestampsAndWatermarksNode):
            yield from _subtasks(current, event_time)
        else:
            pending += [edge.source for edge in plan.inputs(current.id)]


def _splits(node: SourceNode, event_time: EventTime) -> Iterator[_Maker]:
    if node.uid in event_time.ended_sources:
        return
    splits = event_time.splits.get(node.uid, {})
    for split, time in sorted(splits.items()):
        yield _Maker(node, f"split {split}", time.watermark, time.quiet_since, time.idle)
    if not splits:
        yield _Maker(node, "", MIN_WATERMARK, idle=node.uid in event_time.silent_sources)


def _subtasks(node: TimestampsAndWatermarksNode, event_time: EventTime) -> Iterator[_Maker]:
    known = event_time.subtasks.get(node.uid, {})
    for subtask in range(node.parallelism):
        is_idle = (node.uid, subtask) in event_time.idle
        yield _Maker(node, f"subtask {subtask}", known.get(subtask, MIN_WATERMARK), idle=is_idle)


def _idle_in_words(makers: list[_Maker]) -> tuple[str, ...]:
    found: dict[str, dict[str, None]] = {}
    for maker in makers:
        kind = "splits" if isinstance(maker.node, SourceNode) else "subtasks"
        found.setdefault(kind, {})[f"'{maker.node.name}'"] = None
    return tuple(f"{kind} of {', '.join(names)}" for kind, names in found.items())


def _holder(maker: _Maker, furthest: int, now: int, *, would_move: bool) -> WatermarkHolder:
    strategy = maker.node.watermark_strategy
    timeout = None if strategy is None else strategy.idle_timeout_ms
    idle_in = None if timeout is None or maker.quiet_since is None else max(0, maker.quiet_since + timeout - now)
    behind = None
    if maker.watermark > MIN_WATERMARK and furthest < MAX_WATERMARK:
        behind = furthest - maker.watermark
    return WatermarkHolder(
        maker.node.name,
        maker.node.uid,
        maker.part.removeprefix("split ").removeprefix("subtask "),
        shown(maker.watermark),
        behind,
        timeout,
        idle_in,
        would_move and timeout is not None,
        _in_words(maker, behind, now) + _what_helps(maker, timeout, idle_in, now, would_move=would_move),
    )


def _in_words(maker: _Maker, behind: int | None, now: int) -> str:
    who = " ".join(filter(None, (maker.part, "of" if maker.part else "", f"'{maker.node.name}'")))
    if maker.node.watermark_strategy is None:
        return f"{who}, which makes no watermarks before it ends"
    if not maker.part:
        return f"{who}, which has nothing to read yet"
    at = "has sent no watermark yet" if maker.watermark == MIN_WATERMARK else f"is at {maker.watermark}"
    if behind:
        at += f", {behind} ms behind the furthest"
    silence = "" if maker.quiet_since is None else f"; its last record came {max(0, now - maker.quiet_since)} ms ago"
    return f"{who}: it {at}{silence}"


def _what_helps(maker: _Maker, timeout: int | None, idle_in: int | None, now: int, *, would_move: bool) -> str:
    if maker.node.watermark_strategy is None:
        return ": give it a WatermarkStrategy"
    if not would_move:
        return "; event time goes on with its next records"
    if timeout is None:
        spoke_at = None if maker.watermark == MIN_WATERMARK else maker.quiet_since
        if spoke_at is not None and now - spoke_at < _SILENCE_MS:
            return ": it is slow and not silent, so idleness would not help"
        return "; with_idleness(...) would let the others go on without it"
    return f"; it is left out after {timeout} ms of silence" + ("" if idle_in is None else f", in {idle_in} ms")
