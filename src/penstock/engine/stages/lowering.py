"""Which operator runs which node: the only place where `plan` and `runtime` meet. Registered by node type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.common.batch import RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.errors import UnsupportedError
from penstock.common.typeinfo import TypeInformation
from penstock.expressions.evaluator import Evaluator
from penstock.expressions.exploding import ExplodingEvaluator
from penstock.functions.batches import BatchFormat
from penstock.functions.join_kind import JoinKind
from penstock.plan.async_node import AsyncNode
from penstock.plan.batch_nodes import BatchesNode, KeyedBatchesNode, KeyedCoBatchesNode, MapBatchesNode
from penstock.plan.cep_node import CepNode, ChangingPatternsNode
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.join_nodes import CoGroupNode, IntervalJoinNode, LookupJoinNode, TemporalJoinNode
from penstock.plan.nodes import (
    BroadcastProcessNode,
    CoProcessNode,
    KeyedProcessNode,
    Node,
    RecordFunctionKind,
    ReduceNode,
    SinkNode,
    SourceNode,
    StatelessNode,
    TimestampsAndWatermarksNode,
)
from penstock.plan.traced_node import TracedNode
from penstock.plan.window_node import WindowNode
from penstock.runtime.async_operator import AsyncOperator
from penstock.runtime.batch_function_operator import MapBatchesOperator
from penstock.runtime.broadcast_process import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from penstock.runtime.cep.cep_operator import CepOperator
from penstock.runtime.cep.changing_patterns_operator import ChangingPatternsOperator
from penstock.runtime.co_group_operators import co_group_operator
from penstock.runtime.co_process import CoProcessOperator, KeyedCoProcessOperator
from penstock.runtime.expression_operator import (
    ExpressionFilterOperator,
    ExpressionFlatMapOperator,
    ExpressionMapOperator,
)
from penstock.runtime.interval_join import IntervalJoinOperator
from penstock.runtime.keyed_batches import KeyedBatchOperator
from penstock.runtime.keyed_co_batches import KeyedCoBatchOperator
from penstock.runtime.keyed_process import KeyedProcessOperator
from penstock.runtime.lookup_join import LookupJoinOperator
from penstock.runtime.operator import Operator
from penstock.runtime.outer_interval_join import OuterIntervalJoinOperator
from penstock.runtime.rolling_field import reduce_operator
from penstock.runtime.rolling_reduction import RollingReductionOperator, can_roll
from penstock.runtime.sink_writer import SinkWriterOperator
from penstock.runtime.stateless import FilterOperator, FlatMapOperator, MapOperator, ProcessOperator
from penstock.runtime.temporal_join import TemporalJoinOperator
from penstock.runtime.timestamps_and_watermarks_operator import TimestampsAndWatermarksOperator
from penstock.runtime.traced_operator import TracedFilterOperator, TracedMapOperator
from penstock.runtime.window_operators import window_operator

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


@lowers(TracedNode)
def _traced(node: TracedNode) -> Operator:
    codec = codec_for(node.output_type)
    if node.function_kind is RecordFunctionKind.FILTER:
        return TracedFilterOperator(node.function, codec, node.input_type)
    return TracedMapOperator(node.function, codec, node.input_type, node.output_type)


@lowers(ExpressionNode)
def _expression(node: ExpressionNode) -> Operator:
    if node.function_kind is RecordFunctionKind.FILTER:
        return ExpressionFilterOperator(Evaluator(node.expression, node.input_type))
    if node.function_kind is RecordFunctionKind.FLAT_MAP:
        exploding = ExplodingEvaluator(node.expression, node.input_type, node.output_type)
        return ExpressionFlatMapOperator(exploding, codec_for(node.output_type))
    evaluator = Evaluator(node.expression, node.input_type, node.output_type)
    return ExpressionMapOperator(evaluator, codec_for(node.output_type))


@lowers(MapBatchesNode)
def _map_batches(node: MapBatchesNode) -> Operator:
    return MapBatchesOperator(*_of_batches(node))


@lowers(KeyedBatchesNode)
def _keyed_batches(node: KeyedBatchesNode) -> Operator:
    return KeyedBatchOperator(*_of_batches(node), node.key_type, node.key_places)


@lowers(KeyedCoBatchesNode)
def _keyed_co_batches(node: KeyedCoBatchesNode) -> Operator:
    assert node.output_type is not None
    return KeyedCoBatchOperator(
        node.function, node.batch_format, node.input_types, node.output_type, node.timestamp_column, node.key_type
    )


def _of_batches(
    node: BatchesNode,
) -> tuple[Any, BatchFormat, TypeInformation, TypeInformation, str | None]:
    assert node.output_type is not None
    return node.function, node.batch_format, node.input_type, node.output_type, node.timestamp_column


@lowers(KeyedProcessNode)
def _keyed_process(node: KeyedProcessNode) -> Operator:
    return KeyedProcessOperator(node.function, *_codecs(node))


@lowers(ReduceNode)
def _reduce(node: ReduceNode) -> Operator:
    codec = codec_for(node.output_type)
    if node.reduction is not None and can_roll(node.reduction, codec):
        return RollingReductionOperator(node.function, node.reduction, codec)
    return reduce_operator(node.function, node.output_type, codec)


@lowers(CoProcessNode)
def _co_process(node: CoProcessNode) -> Operator:
    operator = KeyedCoProcessOperator if node.keyed else CoProcessOperator
    return operator(node.function, *_codecs(node))


@lowers(BroadcastProcessNode)
def _broadcast_process(node: BroadcastProcessNode) -> Operator:
    operator_class = KeyedBroadcastProcessOperator if node.keyed else BroadcastProcessOperator
    operator = operator_class(node.function, *_codecs(node))
    operator.state_names = tuple(descriptor.name for descriptor in node.state_descriptors)
    return operator


@lowers(AsyncNode)
def _async(node: AsyncNode) -> Operator:
    return AsyncOperator(
        node.function,
        codec_for(node.output_type),
        capacity=node.capacity,
        timeout_ms=node.timeout_ms,
        retry_strategy=node.retry_strategy,
        ordered=node.ordered,
    )


@lowers(TimestampsAndWatermarksNode)
def _timestamps_and_watermarks(node: TimestampsAndWatermarksNode) -> Operator:
    return TimestampsAndWatermarksOperator(node.watermark_strategy)


@lowers(WindowNode)
def _window(node: WindowNode) -> Operator:
    return window_operator(node.window, *_codecs(node))


@lowers(CoGroupNode)
def _co_group(node: CoGroupNode) -> Operator:
    return co_group_operator(node.window, node.late_data_tags, *_codecs(node))


@lowers(IntervalJoinNode)
def _interval_join(node: IntervalJoinNode) -> Operator:
    told = node.function, node.lower, node.upper
    kept = node.input_types, node.late_data_tags
    if node.join_kind is JoinKind.INNER:
        return IntervalJoinOperator(*told, *kept, *_codecs(node))
    return OuterIntervalJoinOperator(*told, node.join_kind, *kept, *_codecs(node))


@lowers(TemporalJoinNode)
def _temporal_join(node: TemporalJoinNode) -> Operator:
    kept = node.input_types, node.late_data_tags
    return TemporalJoinOperator(node.function, node.join_kind, *kept, *_codecs(node))


@lowers(LookupJoinNode)
def _lookup_join(node: LookupJoinNode) -> Operator:
    return LookupJoinOperator(node.function, node.join_kind, node.valid_from, node.table_type, *_codecs(node))


@lowers(CepNode)
def _cep(node: CepNode) -> Operator:
    return CepOperator(node.function, node.pattern, node.settings, *_codecs(node))


@lowers(ChangingPatternsNode)
def _changing_patterns(node: ChangingPatternsNode) -> Operator:
    return ChangingPatternsOperator(node.function, node.parse_update, node.settings, *_codecs(node))


@lowers(SinkNode)
def _sink(node: SinkNode) -> Operator:
    return SinkWriterOperator(node.sink)
