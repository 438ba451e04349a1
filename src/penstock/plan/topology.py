"""Who feeds whom: the lookups of a plan, over nodes and edges that form an acyclic graph."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

from penstock.common.errors import PlanError
from penstock.plan.naming import describe_node
from penstock.plan.nodes import Edge, Node


class Topology:
    """Lookups over nodes and edges. Raises `PlanError` for repeated ids, edges into nowhere and cycles."""

    def __init__(self, nodes: tuple[Node, ...], edges: tuple[Edge, ...]) -> None:
        self.nodes = nodes
        self.edges = edges
        self._by_id = _index_by_id(nodes)
        inputs: dict[int, list[Edge]] = {node.id: [] for node in nodes}
        outputs: dict[int, list[Edge]] = {node.id: [] for node in nodes}
        for edge in edges:
            self._check_ends(edge)
            inputs[edge.target].append(edge)
            outputs[edge.source].append(edge)
        self._inputs = {
            node_id: tuple(sorted(found, key=lambda e: (e.input_index, e.source, e.order, e.side_output or "")))
            for node_id, found in inputs.items()
        }
        self._outputs = {
            node_id: tuple(sorted(found, key=lambda e: (e.target, e.input_index, e.order, e.side_output or "")))
            for node_id, found in outputs.items()
        }
        self.order = self._sort()

    def node(self, node_id: int) -> Node:
        """The node with this id."""
        return self._by_id[node_id]

    def inputs(self, node_id: int) -> tuple[Edge, ...]:
        """The edges that end at a node, by input index, then by source."""
        return self._inputs[node_id]

    def outputs(self, node_id: int) -> tuple[Edge, ...]:
        """The edges that start at a node, by target."""
        return self._outputs[node_id]

    def upstream_of(self, node_ids: Iterable[int]) -> set[int]:
        """The given nodes and all that they read from, directly or not."""
        found: set[int] = set()
        pending = list(node_ids)
        while pending:
            node_id = pending.pop()
            if node_id not in found:
                found.add(node_id)
                pending += [edge.source for edge in self._inputs[node_id]]
        return found

    def _check_ends(self, edge: Edge) -> None:
        for end in (edge.source, edge.target):
            if end not in self._by_id:
                other = self._by_id.get(edge.target if end == edge.source else edge.source)
                at = f" at {describe_node(other)}" if other else ""
                raise PlanError(
                    f"the edge {edge.source} -> {edge.target}{at} names operator {end}, which is not in the plan"
                )

    def _sort(self) -> tuple[Node, ...]:
        """Topological order; among nodes that are free to go, the lowest id goes first."""
        waiting = {node_id: len(found) for node_id, found in self._inputs.items()}
        ready = [node_id for node_id, count in waiting.items() if count == 0]
        heapq.heapify(ready)
        order: list[Node] = []
        while ready:
            node_id = heapq.heappop(ready)
            order.append(self._by_id[node_id])
            for edge in self._outputs[node_id]:
                waiting[edge.target] -= 1
                if waiting[edge.target] == 0:
                    heapq.heappush(ready, edge.target)
        if len(order) < len(self.nodes):
            cycle = self._find_cycle(set(self._by_id) - {node.id for node in order})
            path = "\n  -> ".join(describe_node(node) for node in (*cycle, cycle[0]))
            raise PlanError(
                f"the operators form a cycle, and a plan must not have one:\n     {path}\n"
                "Break the cycle, for example by writing to an external topic and reading it back."
            )
        return tuple(order)

    def _find_cycle(self, blocked: set[int]) -> list[Node]:
        # Every blocked node has a blocked input, so walking back from any of them must meet a node twice.
        path: list[int] = []
        node_id = min(blocked)
        while node_id not in path:
            path.append(node_id)
            node_id = next(edge.source for edge in self._inputs[node_id] if edge.source in blocked)
        cycle = path[path.index(node_id) :][::-1]
        first = cycle.index(min(cycle))
        return [self._by_id[found] for found in cycle[first:] + cycle[:first]]


def _index_by_id(nodes: tuple[Node, ...]) -> Mapping[int, Node]:
    by_id: dict[int, Node] = {}
    for node in nodes:
        if node.id in by_id:
            raise PlanError(
                f"two operators have the id {node.id}:\n  {describe_node(by_id[node.id])}\n  {describe_node(node)}"
            )
        by_id[node.id] = node
    return by_id
