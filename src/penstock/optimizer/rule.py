"""What a rule of the optimizer is."""

from __future__ import annotations

from typing import Protocol

from penstock.plan.plan import Plan


class Rule(Protocol):
    """One rewrite of a plan."""

    @property
    def name(self) -> str:
        """What the rule does, in a few words."""
        ...

    def apply(self, plan: Plan) -> Plan:
        """The plan after the rule; the same object where the rule has nothing to do."""
        ...
