"""Finds event time without timestamps before a job is started."""

from __future__ import annotations

from penstock.common.errors import PlanError
from penstock.common.timestamp_assigner import RecordTimestampAssigner
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.collection import CollectionSource
from penstock.connectors.dataframe import ArrowTableSource
from penstock.connectors.datagen import DataGeneratorSource
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.sequence import NumberSequenceSource
from penstock.functions.table_lookup import TableLookupFunction
from penstock.plan.async_node import AsyncNode
from penstock.plan.batch_nodes import MapBatchesNode
from penstock.plan.cep_node import CepNode, ChangingPatternsNode
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.join_nodes import CoGroupNode, IntervalJoinNode, LookupJoinNode, TemporalJoinNode
from penstock.plan.naming import describe_node
from penstock.plan.nodes import Node, ReduceNode, SourceNode, StatelessNode, TimestampsAndWatermarksNode
from penstock.plan.plan import Plan
from penstock.plan.window_node import WindowNode
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner, is_known
from penstock.windows.session import SessionWindows

_WITHOUT_TIMESTAMPS = (CollectionSource, NumberSequenceSource, ArrowTableSource, DataGeneratorSource, FileSource)
_KEEP_TIMESTAMPS = (StatelessNode, ExpressionNode, ReduceNode, AsyncNode, MapBatchesNode)


def check_timestamps(plan: Plan) -> None:
    """Refuses windows, joins and patterns of event time over records that nobody gives a timestamp."""
    for node in plan.topological_order:
        for edge in plan.inputs(node.id):
            if not _needs_timestamps(node, edge.input_index):
                continue
            source = _source_without_timestamps(plan, plan.node(edge.source))
            if source is not None:
                raise PlanError(
                    f"{describe_node(node)} follows event time, and the records of {describe_node(source)} come to it "
                    "without timestamps; call `assign_timestamps_and_watermarks(WatermarkStrategy..."
                    "with_timestamp_assigner(...))` on the stream before, give the strategy to `from_source`, or use "
                    "processing time"
                )


def _needs_timestamps(node: Node, input_index: int) -> bool:
    match node:
        case IntervalJoinNode() | TemporalJoinNode():
            return True
        case LookupJoinNode():
            return node.valid_from is not None and input_index == 0  # the rows of the table have theirs in a column
        case StatelessNode():
            return isinstance(node.function, TableLookupFunction) and node.function.valid_from is not None
        case CepNode() | ChangingPatternsNode():
            return node.settings.is_event_time and input_index == 0
        case WindowNode() | CoGroupNode():
            return _is_of_event_time(node.window.assigner)
        case _:
            return False


def _is_of_event_time(assigner: WindowAssigner[object, object]) -> bool:
    """Only of those of ours it is known that they look at timestamps."""
    is_timed = isinstance(assigner, AlignedWindowAssigner | SessionWindows) and assigner.is_event_time()
    return is_timed and is_known(assigner)


def _source_without_timestamps(plan: Plan, node: Node) -> SourceNode | None:
    """A source whose records come through this operator without a timestamp; None where there is none for certain."""
    if isinstance(node, SourceNode):
        has_records = not isinstance(node.source, CollectionSource) or len(node.source) > 0
        is_without = isinstance(node.source, _WITHOUT_TIMESTAMPS) and has_records
        return node if is_without and not _gives_timestamps(node.watermark_strategy) else None
    if isinstance(node, TimestampsAndWatermarksNode) and _gives_timestamps(node.watermark_strategy):
        return None
    if not isinstance(node, (*_KEEP_TIMESTAMPS, TimestampsAndWatermarksNode)):
        return None
    found = (_source_without_timestamps(plan, plan.node(edge.source)) for edge in plan.inputs(node.id))
    return next((each for each in found if each is not None), None)


def _gives_timestamps(strategy: WatermarkStrategy | None) -> bool:
    if strategy is None:
        return False
    return type(strategy.timestamp_assigner).extract_timestamp is not RecordTimestampAssigner.extract_timestamp
