"""Collects nodes and edges while the user's program runs, then builds the plan."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from penstock.common.call_site import UNKNOWN_CALL_SITE, capture_call_site
from penstock.common.errors import PlanError
from penstock.plan.nodes import FORWARD, Edge, Exchange, ExchangeKind, Node
from penstock.plan.plan import Plan
from penstock.plan.topology import Topology
from penstock.plan.uid import derive_uids
from penstock.state.key_groups import default_max_parallelism


class PlanBuilder:
    """A plan in the making. Everything may change until `build`, which may be called again and again."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._edges: list[tuple[Edge, bool]] = []
        self._edges_between: Counter[tuple[int, int]] = Counter()

    def __len__(self) -> int:
        return len(self._nodes)

    def add_node(self, node: Node) -> int:
        """Adds an operator and returns its id.

        A uid and a max parallelism that the node brings stay; what it lacks of them is derived in `build`.
        A missing call site is taken from the stack.
        """
        node_id = len(self._nodes) + 1
        self._nodes[node_id] = dataclasses.replace(
            node,
            id=node_id,
            uid_is_given=bool(node.uid),
            max_parallelism_is_given=node.max_parallelism_is_given or node.max_parallelism != Node.max_parallelism,
            call_site=capture_call_site() if node.call_site == UNKNOWN_CALL_SITE else node.call_site,
        )
        return node_id

    def add_edge(
        self,
        source: int,
        target: int,
        exchange: Exchange | None = None,
        *,
        input_index: int = 0,
        side_output: str | None = None,
    ) -> None:
        """Lets records flow from one node to another.

        Without an exchange it is forward where both have the same parallelism when the plan is built, else
        rebalance, as in Flink. An exchange that is given stays: forward between different parallelisms is
        then an error.
        """
        order = self._edges_between[source, target]
        self._edges_between[source, target] += 1
        edge = Edge(source, target, exchange or FORWARD, input_index, side_output, order)
        self._edges.append((edge, exchange is None))

    def node(self, node_id: int) -> Node:
        """The node as it is now."""
        return self._nodes[node_id]

    def replace(self, node_id: int, **changes: Any) -> Node:
        """Changes fields of a node after the fact (name, uid, parallelism, ...) and returns the new node."""
        if "id" in changes:
            raise PlanError("the id of an operator cannot change")
        if "uid" in changes:
            changes.setdefault("uid_is_given", bool(changes["uid"]))
        if "max_parallelism" in changes:
            changes.setdefault("max_parallelism_is_given", True)
        self._nodes[node_id] = dataclasses.replace(self._nodes[node_id], **changes)
        return self._nodes[node_id]

    def build(self, job_name: str) -> Plan:
        """The plan of everything added so far. Raises `PlanError` where the program does not make one."""
        nodes = tuple(self._with_max_parallelism(node) for node in self._nodes.values())
        edges = tuple(self._settled(edge) if is_open else edge for edge, is_open in self._edges)
        uids = derive_uids(Topology(nodes, edges))
        return Plan(tuple(dataclasses.replace(node, uid=uids[node.id]) for node in nodes), edges, job_name)

    def _with_max_parallelism(self, node: Node) -> Node:
        if node.max_parallelism_is_given:
            return node
        return dataclasses.replace(node, max_parallelism=default_max_parallelism(node.parallelism))

    def _settled(self, edge: Edge) -> Edge:
        source, target = self._nodes.get(edge.source), self._nodes.get(edge.target)
        if source is None or target is None or source.parallelism == target.parallelism:
            return edge
        return dataclasses.replace(edge, exchange=Exchange(ExchangeKind.REBALANCE))
