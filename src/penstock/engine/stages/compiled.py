"""A plan made ready for tasks: chains, numbered edges and stages. Frozen, and shipped to every worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.common.errors import PlanError
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.declared_rows import row_of_fields
from penstock.engine.stages.edge_condition import EdgeCondition
from penstock.engine.stages.job_resources import JobResources
from penstock.plan.nodes import Exchange, ExchangeKind, Node, ReduceNode, SourceNode
from penstock.plan.plan import Plan
from penstock.plan.window_node import WindowNode
from penstock.windows.definition import WindowDefinition


@dataclass(frozen=True)
class CompiledEdge:
    """An exchange between two chains."""

    number: int
    source: int
    target: int
    target_name: str
    exchange: Exchange
    input_index: int
    side_output: str | None
    record_type: TypeInformation | None
    source_level: int
    target_level: int
    source_parallelism: int
    target_parallelism: int
    target_max_parallelism: int
    is_sorted: bool = False
    """Batch execution of a keyed consumer: its records come sorted by key."""
    columns: tuple[int, ...] | None = None
    """The places of the columns that are sent, among those of the sender's records; None: all."""
    condition: EdgeCondition | None = None
    """What records must fulfil to be sent; None: all are."""
    combined: WindowDefinition | None = None
    """The windows whose aggregates records are made to before they are sent, as far as that goes."""
    reduced_by: Any = None
    """The function that records are reduced by before they are sent, as far as that goes."""

    @cached_property
    def sent_type(self) -> TypeInformation | None:
        """The type of what is sent: the records, or rows of those of their fields that somebody reads."""
        if self.columns is None:
            return self.record_type
        assert isinstance(self.record_type, CompositeTypeInfo)
        names = self.record_type.get_field_names()
        return row_of_fields(self.record_type, [names[place] for place in self.columns])

    @property
    def is_broadcast(self) -> bool:
        """Whether every subtask of the consumer gets every record."""
        return self.exchange.kind is ExchangeKind.BROADCAST


@dataclass(frozen=True)
class ChainLink:
    """A hand-over inside a chain: records of `source` (or one of its side outputs) go straight to `target`."""

    source: int
    target: int
    side_output: str | None


@dataclass(frozen=True)
class CompiledChain:
    """Operators that hand records to each other without serialisation, the head first."""

    number: int
    level: int
    nodes: tuple[Node, ...]
    links: tuple[ChainLink, ...]
    inputs: tuple[CompiledEdge, ...]
    outputs: tuple[CompiledEdge, ...]

    @property
    def head(self) -> Node:
        """The node that the chain's inputs lead to."""
        return self.nodes[0]

    @property
    def parallelism(self) -> int:
        """How many subtasks the chain has."""
        return self.head.parallelism

    @property
    def sorted_inputs(self) -> tuple[CompiledEdge, ...]:
        """The inputs whose records come sorted by key."""
        return tuple(edge for edge in self.inputs if edge.is_sorted)

    @property
    def name(self) -> str:
        """The names of the chain's operators."""
        return " -> ".join(node.name for node in self.nodes)


@dataclass(frozen=True)
class CompiledJob:
    """Everything a task has to know about the job, whatever the epoch."""

    name: str
    chains: tuple[CompiledChain, ...]
    edges: tuple[CompiledEdge, ...]
    stage_parallelism: tuple[int, ...]
    batch: bool = False
    resources: JobResources = field(default_factory=JobResources)

    @cached_property
    def source_chains(self) -> dict[int, CompiledChain]:
        """The chain of each source, by the source's node id."""
        return {chain.head.id: chain for chain in self.chains if isinstance(chain.head, SourceNode)}

    @cached_property
    def source_uids(self) -> dict[int, str]:
        """The uid of each source, by its node id."""
        return {node_id: chain.head.uid for node_id, chain in self.source_chains.items()}

    def chains_of(self, stage: int, subtask: int) -> list[CompiledChain]:
        """The chains that a subtask of a stage hosts."""
        return [c for c in self.chains if c.level == stage and subtask < c.parallelism]

    def what_runs(self, stage: int, subtask: int) -> dict[str, Any]:
        """What log lines of a task say that they are about."""
        operators = "; ".join(chain.name for chain in self.chains_of(stage, subtask))
        return {"job": self.name, "operator": operators, "subtask": subtask, "stage": stage}

    @property
    def stages(self) -> range:
        """The numbers of the stages."""
        return range(len(self.stage_parallelism))


def compile_plan(plan: Plan) -> CompiledJob:
    """Numbers the edges and gathers chains from an optimized plan."""
    if plan.layout is None:
        raise PlanError("the plan has no layout: run the optimizer before compiling it")
    level_of = {node: chain.level for chain in plan.layout.chains for node in chain.nodes}
    chain_of = {node: chain.id for chain in plan.layout.chains for node in chain.nodes}
    nodes = {node.id: node for node in plan.nodes}
    edges: list[CompiledEdge] = []
    links: list[ChainLink] = []
    for edge in plan.edges:
        source, target = nodes[edge.source], nodes[edge.target]
        if chain_of[edge.source] == chain_of[edge.target]:
            links.append(ChainLink(edge.source, edge.target, edge.side_output))
            continue
        record_type = plan.record_type(edge)
        columns = condition = None
        if edge.condition is not None:
            assert record_type is not None
            condition = EdgeCondition(edge.condition, record_type)
        if edge.fields is not None:
            assert isinstance(record_type, CompositeTypeInfo)
            columns = tuple(record_type.get_field_index(name) for name in edge.fields)
        edges.append(
            CompiledEdge(
                number=len(edges),
                source=source.id,
                target=target.id,
                target_name=target.name,
                exchange=edge.exchange,
                input_index=edge.input_index,
                side_output=edge.side_output,
                record_type=record_type,
                source_level=level_of[source.id],
                target_level=level_of[target.id],
                source_parallelism=source.parallelism,
                target_parallelism=target.parallelism,
                target_max_parallelism=target.max_parallelism,
                is_sorted=plan.is_sorted(edge),
                columns=columns,
                condition=condition,
                combined=target.window if edge.is_combined and isinstance(target, WindowNode) else None,
                reduced_by=target.function if edge.is_combined and isinstance(target, ReduceNode) else None,
            )
        )
    chains = [
        CompiledChain(
            number=number,
            level=chain.level,
            nodes=tuple(nodes[node] for node in chain.nodes),
            links=tuple(link for link in links if link.source in chain.nodes),
            inputs=tuple(edge for edge in edges if edge.target in chain.nodes),
            outputs=tuple(edge for edge in edges if edge.source in chain.nodes),
        )
        for number, chain in enumerate(plan.layout.chains)
    ]
    return CompiledJob(plan.job_name, tuple(chains), tuple(edges), _stage_parallelism(chains), plan.batch)


def _stage_parallelism(chains: Sequence[CompiledChain]) -> tuple[int, ...]:
    levels = max(chain.level for chain in chains) + 1
    return tuple(max(c.parallelism for c in chains if c.level == level) for level in range(levels))
