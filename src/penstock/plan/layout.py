"""Where the operators of a plan run: chains of operators in the stages of an epoch."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.errors import PlanError
from penstock.plan.naming import describe_node
from penstock.plan.nodes import ExchangeKind, SourceNode
from penstock.plan.topology import Topology

UNASSIGNED_LEVEL = -1


@dataclass(frozen=True)
class Chain:
    """Operators joined by forward edges, a tree under its head: records pass without being serialised."""

    id: int
    nodes: tuple[int, ...]
    """Ids in topological order: the first is the head, the only one that reads from other chains."""
    level: int = UNASSIGNED_LEVEL
    """The stage that runs the chain."""

    @property
    def head(self) -> int:
        """The node that reads from other chains, or the source."""
        return self.nodes[0]


@dataclass(frozen=True)
class Stage:
    """All chains of one level. Partition i of the stage hosts subtask i of each."""

    level: int
    chains: tuple[Chain, ...]
    parallelism: int
    """The largest of its operators' parallelisms."""


@dataclass(frozen=True)
class Layout:
    """The chains of a plan. Levels are all assigned or all unassigned."""

    chains: tuple[Chain, ...]

    @property
    def has_levels(self) -> bool:
        """Whether every chain knows its stage."""
        return all(chain.level != UNASSIGNED_LEVEL for chain in self.chains)


def check_layout(layout: Layout, topology: Topology) -> None:
    """Raises `PlanError` unless each node is in one chain, chains are whole, and levels rise."""
    chain_of: dict[int, Chain] = {}
    for chain in layout.chains:
        for node_id in chain.nodes:
            if node_id in chain_of:
                raise PlanError(f"{describe_node(topology.node(node_id))} is in two chains")
            chain_of[node_id] = chain
    for node in topology.nodes:
        if node.id not in chain_of:
            raise PlanError(f"{describe_node(node)} is in no chain")
    if len({chain.id for chain in layout.chains}) < len(layout.chains):
        raise PlanError("two chains have the same id")
    for chain in layout.chains:
        _check_chain(chain, topology)
    if layout.has_levels:
        _check_levels(chain_of, topology)


def _check_levels(chain_of: dict[int, Chain], topology: Topology) -> None:
    levels = {chain.level for chain in chain_of.values()}
    if levels != set(range(len(levels))):
        raise PlanError(f"the stages must be numbered 0, 1, ... without a gap; they are {sorted(levels)}")
    for node in topology.nodes:
        chain = chain_of[node.id]
        if (chain.level == 0) != isinstance(topology.node(chain.head), SourceNode):
            raise PlanError(f"{describe_node(node)}: stage 0 runs the chains of sources, and nothing else")
    for edge in topology.edges:
        source, target = chain_of[edge.source], chain_of[edge.target]
        if source is not target and source.level >= target.level:
            raise PlanError(
                f"{describe_node(topology.node(edge.target))} runs in stage {target.level}, not after stage "
                f"{source.level} of {describe_node(topology.node(edge.source))}, from which it reads"
            )


def _check_chain(chain: Chain, topology: Topology) -> None:
    members: set[int] = {chain.head}
    for node_id in chain.nodes[1:]:
        inputs = topology.inputs(node_id)
        if len(inputs) != 1 or inputs[0].source not in members or inputs[0].exchange.kind is not ExchangeKind.FORWARD:
            raise PlanError(
                f"{describe_node(topology.node(node_id))} cannot be in a chain behind another operator: "
                "that takes exactly one input, a forward edge from the same chain"
            )
        members.add(node_id)
