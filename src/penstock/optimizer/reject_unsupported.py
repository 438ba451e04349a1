"""Refuses plans that cannot run, before anything is started."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from penstock.common.by_value import pickled_by_value
from penstock.common.errors import PlanError
from penstock.plan.naming import describe_node, qualified_name
from penstock.plan.nodes import Edge, Node, SourceNode
from penstock.plan.plan import Plan


class RejectUnsupported:
    """Refuses what cannot travel to the tasks: functions, sources and sinks that cannot be pickled."""

    name = "reject what cannot run"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        for node in plan.topological_order:
            for role, part in _parts(node):
                _check_travels(node, role, part)
            for edge in plan.inputs(node.id):
                for role, part in _exchange_parts(edge):
                    _check_travels(node, role, part)
        return plan


def _parts(node: Node) -> Iterator[tuple[str, Any]]:
    """What a kind of node has beyond the fields of all nodes: its function, source, sink, ..."""
    common = {field.name for field in dataclasses.fields(Node)}
    if isinstance(node, SourceNode) and not node.source.is_prepared:
        return  # another source travels in its place
    for field in dataclasses.fields(node):
        if field.name not in common:
            yield field.name.replace("_", " "), getattr(node, field.name)


def _exchange_parts(edge: Edge) -> Iterator[tuple[str, Any]]:
    yield "key selector", edge.exchange.key_selector
    yield "partitioner", edge.exchange.partitioner


def _check_travels(node: Node, role: str, part: Any) -> None:
    try:
        pickled_by_value(part)
    except Exception as error:
        raise PlanError(
            f"the {role} of {describe_node(node)}, {qualified_name(part)}, cannot be sent to the tasks that "
            f"run it: {type(error).__name__}: {error}\n"
            "It holds something that cannot be pickled (a connection, a lock, an open file, a SparkSession). "
            "Make such things in `open()`, which runs in the task."
        ) from error
