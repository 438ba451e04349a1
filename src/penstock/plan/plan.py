"""The plan: what the front-ends build, the optimizer rewrites and the engines run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from penstock.common.errors import PlanError
from penstock.common.typeinfo import TypeInformation
from penstock.plan.html_form import to_html
from penstock.plan.invariants import check_invariants
from penstock.plan.layout import Chain, Layout, Stage, check_layout
from penstock.plan.nodes import Edge, ExchangeKind, Node, SinkNode, SourceNode
from penstock.plan.topology import Topology


@dataclass(frozen=True)
class Plan:
    """A job as a graph of operators. An instance that exists satisfies all invariants."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    job_name: str
    layout: Layout | None = None
    """Chains and stages; None before the optimizer."""
    batch: bool = False
    """Whether the job runs as batch."""
    rewrites: tuple[str, ...] = ()
    """What rules of the optimizer have changed, for people to read."""
    topology: Topology = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        topology = Topology(self.nodes, self.edges)
        check_invariants(topology)
        if self.layout is not None:
            check_layout(self.layout, topology)
        object.__setattr__(self, "topology", topology)

    def node(self, node_id: int) -> Node:
        """The node with this id."""
        return self.topology.node(node_id)

    def inputs(self, node_id: int) -> tuple[Edge, ...]:
        """The edges that end at a node, by input index, then by source."""
        return self.topology.inputs(node_id)

    def outputs(self, node_id: int) -> tuple[Edge, ...]:
        """The edges that start at a node, by target."""
        return self.topology.outputs(node_id)

    @property
    def topological_order(self) -> tuple[Node, ...]:
        """All nodes, each after those it reads from; by id where that leaves a choice."""
        return self.topology.order

    @property
    def sources(self) -> tuple[SourceNode, ...]:
        """The sources, in topological order."""
        return tuple(node for node in self.topological_order if isinstance(node, SourceNode))

    @property
    def sinks(self) -> tuple[SinkNode, ...]:
        """The sinks, in topological order."""
        return tuple(node for node in self.topological_order if isinstance(node, SinkNode))

    def chain_of(self, node_id: int) -> Chain:
        """The chain that a node is in; only for plans with a layout."""
        return self._chain_by_node[node_id]

    def is_chained(self, edge: Edge) -> bool:
        """Whether both ends of an edge are in one chain, so that records are handed on as they are."""
        return self.chain_of(edge.source) is self.chain_of(edge.target)

    def is_sorted(self, edge: Edge) -> bool:
        """Whether an edge's records reach its target sorted by key: in batch execution, where the target wants it."""
        return self.batch and edge.exchange.kind is ExchangeKind.HASH and self.node(edge.target).wants_sorted_keys

    def record_type(self, edge: Edge) -> TypeInformation | None:
        """The type of the records that travel on an edge; None where it is not declared."""
        sender = self.node(edge.source)
        return sender.output_type if edge.side_output is None else sender.side_outputs.get(edge.side_output)

    @cached_property
    def exchanges(self) -> tuple[Edge, ...]:
        """The edges between chains, in the order of the plan's edges; only for plans with a layout."""
        return tuple(edge for edge in self.edges if not self.is_chained(edge))

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages in the order they run; stage k has the chains of level k. Only for optimized plans."""
        layout = self._layout_or_raise()
        if not layout.has_levels:
            raise PlanError("the plan's chains have no levels yet: run the whole optimizer first")
        levels: dict[int, list[Chain]] = {}
        for chain in layout.chains:
            levels.setdefault(chain.level, []).append(chain)
        return tuple(
            Stage(
                level,
                tuple(levels[level]),
                max(self.node(node_id).parallelism for chain in levels[level] for node_id in chain.nodes),
            )
            for level in sorted(levels)
        )

    def _repr_html_(self) -> str:
        return to_html(self)

    @cached_property
    def _chain_by_node(self) -> dict[int, Chain]:
        return {node_id: chain for chain in self._layout_or_raise().chains for node_id in chain.nodes}

    def _layout_or_raise(self) -> Layout:
        if self.layout is None:
            raise PlanError("the plan has no layout yet: run the optimizer first")
        return self.layout
