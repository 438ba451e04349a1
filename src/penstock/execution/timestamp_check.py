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
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.join_nodes import CoGroupNode, IntervalJoinNode, TemporalJoinNode
from penstock.plan.naming import describe_node
from penstock.plan.nodes import Node, ReduceNode, SourceNode, StatelessNode, TimestampsAndWatermarksNode
from penstock.plan.plan import Plan
from penstock.plan.window_node import WindowNode
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner
from penstock.windows.session import SessionWindows

_WITHOUT_TIMESTAMPS = (CollectionSource, NumberSequenceSource, ArrowTableSource, DataGeneratorSource, FileSource)
_KEEP_TIMESTAMPS = (StatelessNode, ExpressionNode, ReduceNode)


def check_timestamps(plan: Plan) -> None:
    """Refuses windows and joins of event time over records that nobody gives a timestamp."""
    for node in plan.topological_order:
        if not _needs_timestamps(node):
            continue
        for edge in plan.inputs(node.id):
            source = _source_without_timestamps(plan, plan.node(edge.source))
            if source is not None:
                raise PlanError(
                    f"{describe_node(node)} follows event time, and the records of {describe_node(source)} come to it "
                    "without timestamps; call `assign_timestamps_and_watermarks(WatermarkStrategy..."
                    "with_timestamp_assigner(...))` on the stream before, give the strategy to `from_source`, or use "
                    "processing time"
                )


def _needs_timestamps(node: Node) -> bool:
    if isinstance(node, IntervalJoinNode | TemporalJoinNode):
        return True
    return isinstance(node, WindowNode | CoGroupNode) and _is_of_event_time(node.window.assigner)


def _is_of_event_time(assigner: WindowAssigner[object, object]) -> bool:
    """Only of those of ours it is known that they look at timestamps."""
    is_ours = type(assigner).__module__.startswith("penstock.")
    return is_ours and isinstance(assigner, AlignedWindowAssigner | SessionWindows) and assigner.is_event_time()


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
    return strategy is not None and not isinstance(strategy.timestamp_assigner, RecordTimestampAssigner)
