"""The optimizer: an ordered list of rules."""

from __future__ import annotations

from collections.abc import Collection

from penstock.common.errors import ConfigurationError
from penstock.optimizer.assign_levels import AssignLevels
from penstock.optimizer.chain_operators import ChainOperators
from penstock.optimizer.filter_before_exchanges import FilterBeforeExchanges
from penstock.optimizer.fold_constants import FoldConstants
from penstock.optimizer.pre_aggregate import PreAggregate
from penstock.optimizer.prune_columns import PruneColumns
from penstock.optimizer.prune_unread import PruneUnread
from penstock.optimizer.push_filters import PushFilters
from penstock.optimizer.reduce_in_columns import ReduceInColumns
from penstock.optimizer.reject_unsupported import RejectUnsupported
from penstock.optimizer.rule import Rule
from penstock.optimizer.trace_functions import TraceFunctions
from penstock.plan.plan import Plan

RULES: tuple[Rule, ...] = (
    PruneUnread(),
    RejectUnsupported(),
    TraceFunctions(),
    ReduceInColumns(),
    FoldConstants(),
    PushFilters(),
    ChainOperators(),
    FilterBeforeExchanges(),
    PruneColumns(),
    PreAggregate(),
    AssignLevels(),
)
"""In the order they are applied: what is pruned is not rejected; filters go where they belong before they are chained;
what is not sent is left out at exchanges, which are between chains; and levels need chains."""

_OPTIONAL = (
    TraceFunctions | ReduceInColumns | FoldConstants | PushFilters | FilterBeforeExchanges | PruneColumns | PreAggregate
)


def _option(rule: Rule) -> str:
    return rule.name.replace(" ", "-")


OPTIONAL_RULES = tuple(_option(rule) for rule in RULES if isinstance(rule, _OPTIONAL))
"""Those that a job runs without, too: what `optimizer.disabled-rules` may name."""


def optimize(plan: Plan, disabled: Collection[str] = ()) -> Plan:
    """The plan as an engine runs it: every operator in a chain, every chain in a stage."""
    for name in disabled:
        if name not in OPTIONAL_RULES:
            raise ConfigurationError(
                f"optimizer.disabled-rules names {name!r}; rules that can be left out: {', '.join(OPTIONAL_RULES)}"
            )
    for rule in RULES:
        if _option(rule) not in disabled:
            plan = _as_allowed(rule, disabled).apply(plan)
    return plan


def _as_allowed(rule: Rule, disabled: Collection[str]) -> Rule:
    """Without `trace-functions`, nobody looks into a function of the program."""
    if isinstance(rule, ReduceInColumns) and _option(TraceFunctions()) in disabled:
        return ReduceInColumns(traces=False)
    return rule
