"""A plan as JSON, and its fingerprint."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from penstock.plan.naming import qualified_name
from penstock.plan.nodes import Edge, Exchange, Node, SinkNode, SourceNode, TimestampsAndWatermarksNode
from penstock.plan.plan import Plan


def to_json(plan: Plan) -> dict[str, Any]:
    """The plan as `json.dumps` takes it.

    Functions appear by qualified name and call sites by file and line: the text of the program, and with it
    any password written there, stays out.
    """
    form: dict[str, Any] = {
        "job_name": plan.job_name,
        "fingerprint": fingerprint(plan),
        "nodes": [_node_form(node) for node in plan.topological_order],
        "edges": [_edge_form(edge) | ({"sorted_by_key": True} if plan.is_sorted(edge) else {}) for edge in plan.edges],
        **({"rewritten": list(plan.rewrites)} if plan.rewrites else {}),
    }
    if plan.layout is not None and plan.layout.has_levels:
        form["stages"] = [
            {
                "level": stage.level,
                "parallelism": stage.parallelism,
                "chains": [{"id": chain.id, "nodes": list(chain.nodes)} for chain in stage.chains],
            }
            for stage in plan.stages
        ]
    return form


def fingerprint(plan: Plan) -> str:
    """64 hex digits that differ where state of one plan does not fit the other as it lies.

    It covers operators by uid with their kind, parallelism and max parallelism, the edges and exchanges
    between them, whether the job runs as batch and, in an optimized plan, who runs in which stage and chain. The order
    of statements in the program counts only where it numbers the exchanges: event time is kept by these numbers. Names
    and code are left out.
    """
    uid = {node.id: node.uid for node in plan.nodes}
    nodes = sorted((node.uid, node.kind, node.parallelism, node.max_parallelism) for node in plan.nodes)
    edges = [
        (
            uid[edge.source],
            uid[edge.target],
            edge.exchange.kind.value,
            edge.input_index,
            edge.side_output or "",
            edge.order,
        )
        for edge in plan.edges
    ]
    chains = plan.layout.chains if plan.layout is not None else ()
    layout = sorted((chain.level, sorted(uid[node_id] for node_id in chain.nodes)) for chain in chains)
    parts: list[Any] = [nodes, sorted(edges), layout]
    if plan.batch:
        parts.append("batch")
    elif plan.layout is not None:
        parts.append([place for place, edge in zip(edges, plan.edges, strict=True) if not plan.is_chained(edge)])
    text = json.dumps(parts, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _node_form(node: Node) -> dict[str, Any]:
    form: dict[str, Any] = {
        "id": node.id,
        "kind": node.kind,
        "name": node.name,
        "uid": node.uid,
        "uid_is_given": node.uid_is_given,
        "parallelism": node.parallelism,
        "max_parallelism": node.max_parallelism,
        "slot_sharing_group": node.slot_sharing_group,
        "chaining": node.chaining.value,
        "keyed": node.is_keyed,
        "description": node.description,
        "output_type": None if node.output_type is None else str(node.output_type),
        "side_outputs": {tag: str(node.side_outputs[tag]) for tag in sorted(node.side_outputs)},
        "defined_at": f"{node.call_site.file}:{node.call_site.line}",
    }
    if isinstance(node, SourceNode):
        form["source"] = node.source.describe()
        form["boundedness"] = node.source.boundedness.value
    elif isinstance(node, SinkNode):
        form["sink"] = node.sink.describe()
        form["guarantee"] = node.sink.guarantee.value
    elif (function := getattr(node, "function", None)) is not None:
        form["function"] = qualified_name(function)
    if isinstance(node, SourceNode | TimestampsAndWatermarksNode) and node.watermark_strategy is not None:
        form["watermarks"] = node.watermark_strategy.describe()
    return form


def _edge_form(edge: Edge) -> dict[str, Any]:
    return {
        "source": edge.source,
        "target": edge.target,
        "input_index": edge.input_index,
        "side_output": edge.side_output,
        "order": edge.order,
        "exchange": _exchange_form(edge.exchange),
        **({} if edge.condition is None else {"condition": edge.condition.text}),
        **({} if edge.fields is None else {"fields": list(edge.fields)}),
        **({"aggregated_before": True} if edge.is_combined else {}),
    }


def _exchange_form(exchange: Exchange) -> dict[str, Any]:
    form: dict[str, Any] = {"kind": exchange.kind.value}
    if exchange.key_fields:
        form["key_fields"] = list(exchange.key_fields)
    elif exchange.key_selector is not None:
        form["key_selector"] = qualified_name(exchange.key_selector)
    if exchange.key_type is not None:
        form["key_type"] = str(exchange.key_type)
    if exchange.partitioner is not None:
        form["partitioner"] = qualified_name(exchange.partitioner)
    return form
