"""Event time of a job, taken from the inputs of its chains, and given to the inputs of the chains of another plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.engine.stages.compiled import CompiledChain, CompiledEdge, CompiledJob
from penstock.engine.stages.envelope import SOURCE_SENDER
from penstock.plan.nodes import Node, SourceNode, TimestampsAndWatermarksNode
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK
from penstock.state.savepoints.header import OperatorDescription, SavepointHeader

_SENDERS = (1 << 63) - 1


def merged_inputs(operator: OperatorDescription, gates: Mapping[int, Any]) -> dict[str, Any]:
    """How far event time has come on the inputs of a chain: the least over its subtasks, as JSON data.

    `gates` is what each subtask has saved.
    """
    saved = list(gates.values())
    by_number = {edge["number"]: edge for edge in operator.edges if edge["number"] is not None}
    channels: dict[int, dict[int, list[list[Any]]]] = {}
    for each in saved:
        for gate in each["gates"].values():
            for number, *state in gate["channels"]:
                channels.setdefault(number >> 63, {}).setdefault(number & _SENDERS, []).append(state)
    return {
        "watermark": min(each["combined"]["watermark"] for each in saved),
        "finished": all(each["finished"] for each in saved),
        "channels": [
            {
                "from": by_number[edge]["from"],
                "input": by_number[edge]["input"],
                "side_output": by_number[edge]["side_output"],
                **_merged_channel([state for states in senders.values() for state in states]),
                "senders": [list(_merged_channel(states).values()) for _, states in sorted(senders.items())],
                "splits": _merged_splits([each["sources"].get(str(edge)) for each in saved]),
            }
            for edge, senders in sorted(channels.items())
            if edge in by_number
        ],
    }


def _merged_channel(states: Sequence[list[Any]]) -> dict[str, Any]:
    running = [state for state in states if not state[2]] or states
    return {
        "watermark": min(state[0] for state in running),
        "idle": all(state[1] for state in running),
        "ended": all(state[2] for state in states),
    }


def _merged_splits(sources: Sequence[Any]) -> dict[str, list[Any]] | None:
    known = [each for each in sources if each is not None]
    if not known:
        return None
    splits: dict[str, list[Any]] = {}
    for each in known:
        for number, watermark, idle in each["parts"]:
            before = splits.get(str(number), [watermark, idle])
            splits[str(number)] = [min(before[0], watermark), before[1] and idle]
    return splits


@dataclass(frozen=True)
class _Told:
    """What is known on a channel."""

    watermark: int = MIN_WATERMARK
    idle: bool = False
    ended: bool = False


class EventTimeRestore:
    """Works out how far event time is at every operator of a new plan."""

    def __init__(self, header: SavepointHeader, job: CompiledJob) -> None:
        self._header = header
        self._job = job
        self._old = {each.uid: each for each in header.operators}
        self._nodes = {node.id: node for chain in job.chains for node in chain.nodes}
        self._inputs: dict[int, list[int]] = {}
        for chain in job.chains:
            for link in chain.links:
                self._inputs.setdefault(link.target, []).append(link.source)
            for edge in chain.inputs:
                self._inputs.setdefault(edge.target, []).append(edge.source)
        self._old_watermarks: dict[str, int | None] = {}

    def of_chain(self, chain: CompiledChain) -> dict[str, Any]:
        """What `ChainInputs` loads; the same for all subtasks of the chain."""
        known = {} if self._header.drained else self._header.event_time.get(chain.head.uid, {})
        floor = known["watermark"] if known else self._floor(chain.head)
        told = {edge.number: self._told(edge, known) for edge in chain.inputs}
        senders = {edge.number: self._senders(edge, known, told[edge.number]) for edge in chain.inputs}
        indexes = sorted({edge.input_index for edge in chain.inputs})
        gates: dict[str, Any] = {}
        parts: list[list[Any]] = []
        for index in indexes:
            edges = [edge for edge in chain.inputs if edge.input_index == index]
            gates[str(index)] = _gate(edges, senders, floor)
            running = [told[edge.number] for edge in edges if not told[edge.number].ended]
            idle = bool(running) and all(each.idle for each in running)
            parts.append([index, gates[str(index)]["watermark"], idle])
        finished = all(each.ended for each in told.values())
        return {
            "sources": {
                str(edge.number): self._source(edge, known, told[edge.number])
                for edge in chain.inputs
                if edge.source_level == 0
            },
            "gates": gates,
            "combined": {
                "watermark": MAX_WATERMARK if finished else floor,
                "idle": all(part[2] for part in parts),
                "parts": parts,
            },
            "finished": finished and known.get("finished", False),
        }

    def _floor(self, head: Node) -> int:
        """How far event time has come at an operator that was no chain's first."""
        known = None if self._header.drained else self._old_watermark(head.uid)
        if known is not None and not isinstance(head, TimestampsAndWatermarksNode):
            return known
        inputs = [self._watermark(self._nodes[each]) for each in self._inputs.get(head.id, ())]
        return min(inputs, default=MIN_WATERMARK)

    def _told(self, edge: CompiledEdge, known: Mapping[str, Any]) -> _Told:
        source = self._nodes[edge.source]
        if self._has_ended(edge.source):
            return _Told(MAX_WATERMARK, ended=True)
        channel = self._channel(edge, known)
        if channel is not None and not channel["ended"]:
            return _Told(channel["watermark"], channel["idle"])
        if isinstance(source, SourceNode):
            silent = source.uid in self._header.sources and self._header.sources[source.uid].silent
            return _Told(self._watermark(source), idle=silent)
        return _Told(self._watermark(source))

    def _senders(self, edge: CompiledEdge, known: Mapping[str, Any], told: _Told) -> list[_Told]:
        """What each of the subtasks at the other end has told; where they are others than before, all the same."""
        if edge.source_level == 0:
            return [told]
        channel = self._channel(edge, known)
        if channel is None or told.ended or len(channel["senders"]) != edge.source_parallelism:
            return [told] * edge.source_parallelism
        return [_Told(*state) for state in channel["senders"]]

    def _channel(self, edge: CompiledEdge, known: Mapping[str, Any]) -> Mapping[str, Any] | None:
        place = {"from": self._nodes[edge.source].uid, "input": edge.input_index, "side_output": edge.side_output}
        fitting = [
            each for each in known.get("channels", ()) if all(each[name] == value for name, value in place.items())
        ]
        return fitting[0] if len(fitting) == 1 else None

    def _source(self, edge: CompiledEdge, known: Mapping[str, Any], told: _Told) -> dict[str, Any]:
        channel = self._channel(edge, known)
        source = self._header.sources.get(self._nodes[edge.source].uid)
        splits: Mapping[str, Any] = {}
        if source is not None and not self._header.drained:
            live = {str(number) for number in source.splits.values()}
            if channel is not None and channel["splits"] is not None:
                splits = {number: part for number, part in channel["splits"].items() if number in live}
            else:
                splits = {
                    str(source.splits[split]): [time["watermark"], time["idle"]]
                    for split, time in source.times.items()
                    if split in source.splits
                }
        parts = sorted([int(number), *part] for number, part in splits.items())
        return {
            "watermark": told.watermark if not told.ended else MAX_WATERMARK,
            "idle": bool(parts) and all(part[2] for part in parts),
            "parts": parts,
        }

    def _has_ended(self, node_id: int) -> bool:
        node = self._nodes[node_id]
        if isinstance(node, SourceNode):
            return node.uid in self._header.sources and self._header.sources[node.uid].ended
        return all(map(self._has_ended, self._inputs.get(node_id, ())))

    def _watermark(self, node: Node) -> int:
        """What an operator of the new plan has told its consumers; an added one passes on what its inputs have."""
        if self._header.drained:
            return MIN_WATERMARK
        if node.uid in self._old:
            known = self._old_watermark(node.uid)
            return MIN_WATERMARK if known is None else known
        if isinstance(node, SourceNode | TimestampsAndWatermarksNode):
            return MIN_WATERMARK
        inputs = [self._watermark(self._nodes[each]) for each in self._inputs.get(node.id, ())]
        return min(inputs, default=MIN_WATERMARK)

    def _old_watermark(self, uid: str) -> int | None:
        if uid not in self._old_watermarks:
            self._old_watermarks[uid] = self._find_old_watermark(uid)
        return self._old_watermarks[uid]

    def _find_old_watermark(self, uid: str) -> int | None:
        generators = self._header.generators.get(uid)
        if generators:
            return min(each["watermark"] for each in generators.values())
        if uid in self._header.event_time:
            return self._header.event_time[uid]["watermark"]
        source = self._header.sources.get(uid)
        if source is not None:
            times = [each["watermark"] for each in source.times.values() if not each["idle"]]
            return min(times, default=MIN_WATERMARK)
        operator = self._old.get(uid)
        if operator is None or not operator.edges:
            return None
        inputs = [self._old_watermark(edge["from"]) for edge in operator.edges]
        known = [each for each in inputs if each is not None]
        return min(known) if len(known) == len(inputs) else None


def _gate(edges: Sequence[CompiledEdge], senders: Mapping[int, Sequence[_Told]], floor: int) -> dict[str, Any]:
    channels: list[list[Any]] = []
    for edge in edges:
        for number, each in enumerate(senders[edge.number]):
            sender = SOURCE_SENDER if edge.source_level == 0 else number
            # An idle channel counts again when it has caught up; a new one holds event time back from the beginning.
            channels.append(
                [(edge.number << 63) | sender, each.watermark, each.idle, each.ended, not each.idle, MIN_WATERMARK]
            )
    ended = all(each.ended for edge in edges for each in senders[edge.number])
    return {"watermark": MAX_WATERMARK if ended else floor, "channels": sorted(channels)}


def merged_generator(progress: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What stands for generators of several subtasks: the one that is furthest behind, idle where all are."""
    active = [each for each in progress if not each["idle"]]
    return min(active or progress, key=lambda each: each["watermark"])
