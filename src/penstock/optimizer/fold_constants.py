"""Computes once what is the same for every record."""

from __future__ import annotations

import dataclasses

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.expressions.aggregates import Aggregate
from penstock.expressions.evaluator import ExpressionKey
from penstock.expressions.folding import folded
from penstock.expressions.timestamps import ExpressionTimestampAssigner
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import Edge, Node, SourceNode, TimestampsAndWatermarksNode
from penstock.plan.plan import Plan
from penstock.plan.window_node import WindowNode
from penstock.windows.declared_aggregation import RecordAggregation


class FoldConstants:
    """Puts values in the place of the parts of expressions that are made of values alone.

    Expressions are in maps and filters, keys, timestamps and aggregates by name; conditions of exchanges are made of
    those of filters later on.
    """

    name = "fold constants"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        nodes = tuple(_folded(node) for node in plan.nodes)
        edges = tuple(_with_folded_key(edge) for edge in plan.edges)
        rewrites = [f"[{new.id}] '{new.name}'" for new, old in zip(nodes, plan.nodes, strict=True) if new is not old]
        keyed = {new.target for new, old in zip(edges, plan.edges, strict=True) if new is not old}
        rewrites += [f"the key of [{node.id}] '{node.name}'" for node in nodes if node.id in keyed]
        if not rewrites:
            return plan
        told = (f"{self.name}: {each}" for each in rewrites)
        return dataclasses.replace(plan, nodes=nodes, edges=edges, rewrites=(*plan.rewrites, *told))


def _folded(node: Node) -> Node:
    if isinstance(node, ExpressionNode):
        expression = folded(node.expression)
        return node if expression is node.expression else dataclasses.replace(node, expression=expression)
    if isinstance(node, SourceNode | TimestampsAndWatermarksNode) and node.watermark_strategy is not None:
        strategy = _with_folded_timestamps(node.watermark_strategy)
        return node if strategy is None else dataclasses.replace(node, watermark_strategy=strategy)
    return _with_folded_aggregates(node) if isinstance(node, WindowNode) else node


def _with_folded_timestamps(strategy: WatermarkStrategy) -> WatermarkStrategy | None:
    assigner = strategy.timestamp_assigner
    if not isinstance(assigner, ExpressionTimestampAssigner):
        return None
    expression = folded(assigner.expression)
    if expression is assigner.expression:
        return None
    return dataclasses.replace(strategy, timestamp_assigner=assigner.with_expression(expression))


def _with_folded_aggregates(node: WindowNode) -> WindowNode:
    window, aggregation = node.window, node.window.aggregation
    if aggregation is None:
        return node
    aggregates = {name: _folded_aggregate(each) for name, each in aggregation.aggregates.items()}
    if all(made is aggregation.aggregates[name] for name, made in aggregates.items()):
        return node
    made = dataclasses.replace(aggregation, aggregates=aggregates)
    of_records = window.aggregate_function
    if isinstance(of_records, RecordAggregation):
        of_records = RecordAggregation(made)
    folded_window = dataclasses.replace(window, aggregation=made, aggregate_function=of_records)
    description = str(folded_window) if node.description == str(window) else node.description
    return dataclasses.replace(node, window=folded_window, description=description)


def _folded_aggregate(aggregate: Aggregate) -> Aggregate:
    expression = None if aggregate.expression is None else folded(aggregate.expression)
    return aggregate if expression is aggregate.expression else dataclasses.replace(aggregate, expression=expression)


def _with_folded_key(edge: Edge) -> Edge:
    selector = edge.exchange.key_selector
    if not isinstance(selector, ExpressionKey):
        return edge
    expression = folded(selector.expression)
    if expression is selector.expression:
        return edge
    exchange = dataclasses.replace(edge.exchange, key_selector=selector.with_expression(expression))
    return dataclasses.replace(edge, exchange=exchange)
