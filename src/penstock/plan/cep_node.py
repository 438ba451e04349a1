"""The nodes of complex event processing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.patterns import CepSettings, PatternDefinition, PatternProcessFunction, PatternUpdate
from penstock.plan.nodes import Node


@dataclass(frozen=True, kw_only=True)
class CepNode(Node):
    """Finds matches of a pattern in the events of each key, and calls a function with each.

    What a match becomes is the function's: `MatchMeasures` computes rows of measures, one a match or one an event.
    """

    function: PatternProcessFunction[Any, Any]
    settings: CepSettings
    # Not compared: conditions may be expressions, and `==` between those makes an expression.
    pattern: PatternDefinition = field(compare=False)

    @property
    def is_keyed(self) -> bool:  # noqa: D102
        return True


@dataclass(frozen=True, kw_only=True)
class ChangingPatternsNode(Node):
    """The same for all patterns that a broadcast stream (input 1) names."""

    function: PatternProcessFunction[Any, Any]
    settings: CepSettings
    parse_update: Callable[[Any], PatternUpdate]
    """Reads a record of that stream."""

    @property
    def is_keyed(self) -> bool:  # noqa: D102
        return True
