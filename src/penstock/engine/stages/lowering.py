"""Which operator runs which node: the only place where `plan` and `runtime` meet. Registered by node type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.common.batch import RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.errors import UnsupportedError
from penstock.plan.nodes import (
    BroadcastProcessNode,
    CoProcessNode,
    KeyedProcessNode,
    Node,
    RecordFunctionKind,
    SinkNode,
    SourceNode,
    StatelessNode,
)
from penstock.runtime.broadcast_process import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from penstock.runtime.co_process import CoProcessOperator, KeyedCoProcessOperator
from penstock.runtime.keyed_process import KeyedProcessOperator
from penstock.runtime.operator import Operator
from penstock.runtime.sink_writer import SinkWriterOperator
from penstock.runtime.stateless import FilterOperator, FlatMapOperator, MapOperator, ProcessOperator

N = TypeVar("N", bound=Node)
_lowerings: dict[type[Node], Callable[[Any], Operator | None]] = {}


def lowers(node_type: type[N]) -> Callable[[Callable[[N], Operator | None]], Callable[[N], Operator | None]]:
    """Registers the function that makes an operator of a node."""

    def register(lowering: Callable[[N], Operator | None]) -> Callable[[N], Operator | None]:
        _lowerings[node_type] = lowering
        return lowering

    return register


def operator_for(node: Node) -> Operator | None:
    """A new operator for a subtask of the node; None for sources, which readers serve."""
    lowering = _lowerings.get(type(node))
    if lowering is None:
        raise UnsupportedError(
            f"no operator runs a {node.kind} node yet ('{node.name}', uid {node.uid}, {node.call_site})"
        )
    return lowering(node)


def _codecs(node: Node) -> tuple[RecordCodec, dict[str, RecordCodec]]:
    return codec_for(node.output_type), {tag: codec_for(side) for tag, side in node.side_outputs.items()}


@lowers(SourceNode)
def _source(node: SourceNode) -> None:
    return None


_STATELESS = {
    RecordFunctionKind.MAP: MapOperator,
    RecordFunctionKind.FLAT_MAP: FlatMapOperator,
    RecordFunctionKind.FILTER: FilterOperator,
    RecordFunctionKind.PROCESS: ProcessOperator,
}


@lowers(StatelessNode)
def _stateless(node: StatelessNode) -> Operator:
    return _STATELESS[node.function_kind](node.function, *_codecs(node))


@lowers(KeyedProcessNode)
def _keyed_process(node: KeyedProcessNode) -> Operator:
    return KeyedProcessOperator(node.function, *_codecs(node))


@lowers(CoProcessNode)
def _co_process(node: CoProcessNode) -> Operator:
    operator = KeyedCoProcessOperator if node.keyed else CoProcessOperator
    return operator(node.function, *_codecs(node))


@lowers(BroadcastProcessNode)
def _broadcast_process(node: BroadcastProcessNode) -> Operator:
    operator = KeyedBroadcastProcessOperator if node.keyed else BroadcastProcessOperator
    return operator(node.function, *_codecs(node))


@lowers(SinkNode)
def _sink(node: SinkNode) -> Operator:
    return SinkWriterOperator(node.sink)
