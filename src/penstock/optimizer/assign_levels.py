"""Gives every chain its stage."""

from __future__ import annotations

import dataclasses

from penstock.common.errors import PlanError
from penstock.plan.layout import Layout
from penstock.plan.plan import Plan


class AssignLevels:
    """A chain's level is its longest path from a source, counted in exchanges; sources are at level 0."""

    name = "assign levels"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        if plan.layout is None:
            raise PlanError("levels are given to chains: chain the operators first")
        levels: dict[int, int] = {}
        # Only heads read from other chains, and in topological order those are complete by then.
        for node in plan.topological_order:
            chain = plan.chain_of(node.id)
            if node.id == chain.head:
                senders = (plan.chain_of(edge.source) for edge in plan.inputs(node.id))
                levels[chain.id] = max((levels[sender.id] + 1 for sender in senders), default=0)
        chains = tuple(dataclasses.replace(chain, level=levels[chain.id]) for chain in plan.layout.chains)
        return dataclasses.replace(plan, layout=Layout(chains))
