"""Drops the operators whose records reach no sink."""

from __future__ import annotations

import dataclasses
import logging

from penstock.common.errors import PlanError
from penstock.plan.naming import describe_node
from penstock.plan.plan import Plan

_log = logging.getLogger(__name__)


class PruneUnread:
    """Keeps what a sink reads, directly or not. Says in the log what it drops, as Flink would have run it."""

    name = "prune what no sink reads"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        if not plan.sinks:
            sources = "\n  ".join(describe_node(node) for node in plan.sources)
            raise PlanError(
                f"the program has no sink, so nothing would run; it reads\n  {sources}\n"
                "Add a sink to a stream, for example `stream.print()` or `stream.sink_to(...)`."
            )
        read = plan.topology.upstream_of(node.id for node in plan.sinks)
        if len(read) == len(plan.nodes):
            return plan
        for node in plan.nodes:
            if node.id not in read:
                _log.warning("%s reaches no sink and will not run", describe_node(node))
        return dataclasses.replace(
            plan,
            nodes=tuple(node for node in plan.nodes if node.id in read),
            edges=tuple(edge for edge in plan.edges if edge.target in read),
            layout=None,
        )
