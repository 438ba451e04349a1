"""The optimizer: an ordered list of rules."""

from __future__ import annotations

from penstock.optimizer.assign_levels import AssignLevels
from penstock.optimizer.chain_operators import ChainOperators
from penstock.optimizer.prune_unread import PruneUnread
from penstock.optimizer.reject_unsupported import RejectUnsupported
from penstock.optimizer.rule import Rule
from penstock.plan.plan import Plan

RULES: tuple[Rule, ...] = (PruneUnread(), RejectUnsupported(), ChainOperators(), AssignLevels())
"""In the order they are applied: what is pruned is not rejected, and levels need chains."""


def optimize(plan: Plan) -> Plan:
    """The plan as an engine runs it: every operator in a chain, every chain in a stage."""
    for rule in RULES:
        plan = rule.apply(plan)
    return plan
