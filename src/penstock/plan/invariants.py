"""What every plan must satisfy, whoever built it; checked whenever a plan is made."""

from __future__ import annotations

from penstock.common.errors import PlanError
from penstock.plan.batch_nodes import KeyedCoBatchesNode
from penstock.plan.cep_node import ChangingPatternsNode
from penstock.plan.join_nodes import JoinNode
from penstock.plan.naming import describe_node
from penstock.plan.nodes import (
    BroadcastProcessNode,
    CoProcessNode,
    Edge,
    ExchangeKind,
    Node,
    SinkNode,
    SourceNode,
)
from penstock.plan.topology import Topology
from penstock.state.key_groups import MAX_PARALLELISM_LIMIT


def check_invariants(topology: Topology) -> None:
    """Raises `PlanError` for the first thing that is wrong, naming the operator and the user's line."""
    if not any(isinstance(node, SourceNode) for node in topology.nodes):
        raise PlanError(
            "the program has no source: start from one, for example with `env.from_collection(...)` "
            "or `env.from_source(...)`"
        )
    _check_uids(topology)
    for node in topology.nodes:
        _check_parallelism(node)
        _check_input_count(node, topology)
        _check_output_count(node, topology)
    for edge in topology.edges:
        _check_exchange(edge, topology)
    _check_edges_differ(topology)


def _check_uids(topology: Topology) -> None:
    seen: dict[str, Node] = {}
    for node in topology.nodes:
        if not node.uid:
            raise PlanError(f"{describe_node(node)} has no uid; `PlanBuilder.build` derives one")
        if node.uid in seen:
            raise PlanError(
                f"two operators have the uid '{node.uid}':\n"
                f"  {describe_node(seen[node.uid])}\n  {describe_node(node)}\n"
                "State is found by uid, so each operator needs its own: change one of them."
            )
        seen[node.uid] = node


def _check_parallelism(node: Node) -> None:
    if node.parallelism < 1:
        raise PlanError(f"{describe_node(node)} has parallelism {node.parallelism}; it must be at least 1")
    if not 1 <= node.max_parallelism <= MAX_PARALLELISM_LIMIT:
        raise PlanError(
            f"{describe_node(node)} has max parallelism {node.max_parallelism}; "
            f"it must be between 1 and {MAX_PARALLELISM_LIMIT}"
        )
    if node.parallelism > node.max_parallelism:
        raise PlanError(
            f"{describe_node(node)} has parallelism {node.parallelism}, above its max parallelism "
            f"{node.max_parallelism}: lower the one or raise the other with `set_max_parallelism`"
        )


def _expected_inputs(node: Node) -> set[int]:
    if isinstance(node, SourceNode):
        return set()
    if isinstance(node, CoProcessNode | BroadcastProcessNode | ChangingPatternsNode | JoinNode | KeyedCoBatchesNode):
        return {0, 1}
    return {0}


def _check_input_count(node: Node, topology: Topology) -> None:
    expected = _expected_inputs(node)
    given = {edge.input_index for edge in topology.inputs(node.id)}
    if not expected and given:
        feeders = ", ".join(describe_node(topology.node(edge.source)) for edge in topology.inputs(node.id))
        raise PlanError(f"{describe_node(node)} is a source and cannot have inputs, but reads from {feeders}")
    for index in sorted(given - expected):
        raise PlanError(
            f"{describe_node(node)} has an edge into input {index}; it has "
            + ("inputs 0 and 1 only" if len(expected) == 2 else "input 0 only")
        )
    for index in sorted(expected - given):
        which = f"input {index}" if len(expected) == 2 else "its input"
        raise PlanError(f"{describe_node(node)}: nothing feeds {which}; connect a stream to it")


def _check_output_count(node: Node, topology: Topology) -> None:
    outputs = topology.outputs(node.id)
    if isinstance(node, SinkNode) and outputs:
        readers = ", ".join(describe_node(topology.node(edge.target)) for edge in outputs)
        raise PlanError(f"{describe_node(node)} is a sink and cannot have outputs, but feeds {readers}")
    if isinstance(node, SourceNode) and not outputs:
        raise PlanError(
            f"nothing consumes {describe_node(node)}: add a sink to the stream "
            "(`print()`, `sink_to(...)`), or remove the source"
        )


def _check_exchange(edge: Edge, topology: Topology) -> None:
    source, target = topology.node(edge.source), topology.node(edge.target)
    exchange = edge.exchange
    kind = exchange.kind
    if edge.side_output is not None and edge.side_output not in source.side_outputs:
        declared = ", ".join(f"'{tag}'" for tag in sorted(source.side_outputs)) or "none"
        raise PlanError(
            f"{describe_node(target)} reads the side output '{edge.side_output}' of {describe_node(source)}, "
            f"which does not declare it (declared: {declared})"
        )
    if isinstance(target, BroadcastProcessNode | ChangingPatternsNode) and edge.input_index == 1:
        if kind is not ExchangeKind.BROADCAST:
            raise PlanError(
                f"input 1 of {describe_node(target)} must be a broadcast stream, but {describe_node(source)} "
                f"feeds it by {kind.value}: make it with `stream.broadcast(state_descriptor)`"
            )
    elif target.is_keyed and kind is not ExchangeKind.HASH:
        raise PlanError(
            f"{describe_node(target)} works on keyed records, but {describe_node(source)} feeds its input "
            f"{edge.input_index} by {kind.value}: call `key_by(...)` on that stream first"
        )
    if kind is ExchangeKind.FORWARD and source.parallelism != target.parallelism:
        raise PlanError(
            "forward partitioning does not allow a change of parallelism: "
            f"{describe_node(source)} has parallelism {source.parallelism}, "
            f"{describe_node(target)} has parallelism {target.parallelism}; "
            "use another partitioning, such as rebalance, rescale, shuffle, broadcast or global"
        )
    if kind in (ExchangeKind.HASH, ExchangeKind.CUSTOM) and not (exchange.key_fields or exchange.key_selector):
        raise PlanError(f"the {kind.value} exchange into {describe_node(target)} has no key fields and no key selector")
    if kind is ExchangeKind.CUSTOM and exchange.partitioner is None:
        raise PlanError(f"the custom exchange into {describe_node(target)} has no partitioner")


def _check_edges_differ(topology: Topology) -> None:
    seen: set[tuple[int, int, int, str | None, int]] = set()
    for edge in topology.edges:
        identity = (edge.source, edge.target, edge.input_index, edge.side_output, edge.order)
        if identity in seen:
            raise PlanError(
                f"two edges from {describe_node(topology.node(edge.source))} into input {edge.input_index} "
                f"of {describe_node(topology.node(edge.target))} have the same order {edge.order}; "
                "number them 0, 1, ..."
            )
        seen.add(identity)
