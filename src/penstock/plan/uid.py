"""The uids of operators that were given none: derived from where they stand in the graph."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

from penstock.plan.nodes import Node, SourceNode
from penstock.plan.topology import Topology


def derive_uids(topology: Topology) -> dict[int, str]:
    """The uid of each node by id: the given one, or 32 hex digits that stay the same from run to run.

    A derived uid depends on the node's kind, on the uids of its inputs and, among nodes equal in both, on
    which came first. Names, parallelism, functions and whatever else the program contains do not change it.
    """
    uids: dict[int, str] = {}
    equals_before: Counter[str] = Counter()
    for node in topology.order:
        place = _place(node, topology, uids)
        position = equals_before[place]
        equals_before[place] += 1
        uids[node.id] = node.uid or hashlib.sha256(f"{place}#{position}".encode()).hexdigest()[:32]
    return uids


def _place(node: Node, topology: Topology, uids: dict[int, str]) -> str:
    kind = f"{node.kind}:{type(node.source).__name__}" if isinstance(node, SourceNode) else node.kind
    inputs = [(edge.input_index, uids[edge.source], edge.side_output) for edge in topology.inputs(node.id)]
    return json.dumps([kind, sorted(inputs, key=str)])
