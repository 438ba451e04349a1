"""A plan as text: stages, chains, operators and exchanges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.plan.expression_node import ExpressionNode
from penstock.plan.naming import exchange_label, shown_uid
from penstock.plan.nodes import (
    Chaining,
    Edge,
    KeyedProcessNode,
    Node,
    ReduceNode,
    SinkNode,
    SourceNode,
    StatelessNode,
    TimestampsAndWatermarksNode,
)
from penstock.plan.traced_node import TracedNode
from penstock.plan.window_node import WindowNode
from penstock.tracing import TracedTimestampAssigner

if TYPE_CHECKING:
    from penstock.plan.plan import Plan


def explain(plan: Plan) -> str:
    """The plan for people to read; the same plan always gives the same text.

    An optimized plan is shown by stages and chains: an operator stands under the one that hands it records,
    and `=>` are the exchanges that leave it. Before the optimizer, operators are listed with their inputs.
    """
    is_laid_out = plan.layout is not None and plan.layout.has_levels
    lines = _stage_lines(plan) if is_laid_out else _operator_lines(plan)
    mode = " (batch)" if plan.batch else ""
    rewrites = ("rewritten", *(f"  {each}" for each in plan.rewrites)) if plan.rewrites else ()
    return "\n".join((f"job: {plan.job_name}{mode}", *lines, *rewrites)) + "\n"


def _stage_lines(plan: Plan) -> Iterator[str]:
    for stage in plan.stages:
        yield f"stage {stage.level}, parallelism {stage.parallelism}"
        for chain in stage.chains:
            yield f"  chain {chain.id}"
            yield from _chain_lines(plan, chain.head)


def _chain_lines(plan: Plan, head: int) -> Iterator[str]:
    # A stack instead of recursion: a program may chain more operators than Python nests calls.
    pending: list[tuple[int, Edge | None]] = [(2, None)]
    while pending:
        depth, edge = pending.pop()
        indent = "  " * depth
        if edge is not None and not plan.is_chained(edge):
            chain = plan.chain_of(edge.target)
            where = f"stage {chain.level}, chain {chain.id}, {_target(plan, edge)}"
            yield f"{indent}=> {_edge_label(plan, edge)} to {where}"
            continue
        node = plan.node(head if edge is None else edge.target)
        side_output = None if edge is None else edge.side_output
        reads = "" if side_output is None else f"side output '{side_output}': "
        yield indent + reads + _node_line(node)
        pending += [(depth + 1, output) for output in reversed(plan.outputs(node.id))]


def _operator_lines(plan: Plan) -> Iterator[str]:
    for node in plan.topological_order:
        yield f"  {_node_line(node)}"
        for edge in plan.inputs(node.id):
            index = f"input {edge.input_index} " if edge.input_index else ""
            yield f"    <= {index}{_edge_label(plan, edge)} from [{edge.source}]"


def _node_line(node: Node) -> str:
    facts = [f"[{node.id}] {node.kind} '{node.name}'"]
    if isinstance(node, SourceNode):
        reads = "" if node.read_fields is None else f", reads {', '.join(node.read_fields)}"
        facts.append(f"{node.source.describe()}, {node.source.boundedness.value}{reads}")
    if isinstance(node, SourceNode | TimestampsAndWatermarksNode) and node.watermark_strategy is not None:
        facts.append(node.watermark_strategy.describe())
        facts += _traced_timestamps(node)
    if isinstance(node, ExpressionNode):
        facts.append(node.expression.text)
    if isinstance(node, TracedNode):
        facts.append(f"traced: {node.program_text}")
    elif isinstance(node, StatelessNode | ReduceNode | KeyedProcessNode) and node.not_traced:
        facts.append(f"not traced: {node.not_traced}")
    if isinstance(node, ReduceNode) and node.reduction is not None:
        facts.append(f"recognised as {node.reduction}")
    if isinstance(node, SinkNode):
        facts.append(f"{node.sink.describe()}, {node.sink.guarantee.value}")
    if node.is_keyed and not isinstance(node, KeyedProcessNode):
        facts.append("keyed")
    if node.output_type is not None and not isinstance(node, SinkNode):
        facts.append(f"type {node.output_type}")
    for tag in sorted(node.side_outputs):
        facts.append(f"side output '{tag}' {node.side_outputs[tag]}")
    facts.append(f"parallelism {node.parallelism} of {node.max_parallelism}")
    if node.chaining is not Chaining.ALWAYS:
        facts.append(f"chaining {node.chaining.value}")
    if node.slot_sharing_group != "default":
        facts.append(f"slot sharing group '{node.slot_sharing_group}'")
    facts.append(f"uid {shown_uid(node)}")
    facts += filter(None, (node.description, _why_not_in_columns(node)))
    return " | ".join(facts)


def _why_not_in_columns(node: Node) -> str:
    reason = node.not_in_columns if isinstance(node, WindowNode) else ""
    return f"not in columns: {reason}" if reason else ""


def _traced_timestamps(node: SourceNode | TimestampsAndWatermarksNode) -> Iterator[str]:
    assigner = None if node.watermark_strategy is None else node.watermark_strategy.timestamp_assigner
    if isinstance(assigner, TracedTimestampAssigner) and assigner.program is not None:
        yield f"timestamps traced: {assigner.program.text}"
    if node.timestamps_not_traced:
        yield f"timestamps not traced: {node.timestamps_not_traced}"


def _edge_label(plan: Plan, edge: Edge) -> str:
    why_not = f" (not traced: {edge.exchange.not_traced})" if edge.exchange.not_traced else ""
    label = exchange_label(edge.exchange) + why_not + (", sorted by key," if plan.is_sorted(edge) else "")
    if edge.condition is not None:
        label += f" where {edge.condition.text}"
    if edge.fields is not None:
        label += f" of {', '.join(edge.fields)}"
    if edge.is_combined:
        label += ", aggregated before,"
    return label if edge.side_output is None else f"side output '{edge.side_output}' {label}"


def _target(plan: Plan, edge: Edge) -> str:
    node = plan.node(edge.target)
    inputs = {found.input_index for found in plan.inputs(node.id)}
    index = f" input {edge.input_index}" if len(inputs) > 1 else ""
    return f"[{node.id}] '{node.name}'{index}"
