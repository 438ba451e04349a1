"""How matches of a pattern are looked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.functions.output_tag import OutputTag
from penstock.patterns.definition import PatternDefinition

Comparator = Callable[[Any, Any], int]
"""Says which of two events of the same time comes first: negative, zero, positive."""


@dataclass(frozen=True)
class CepSettings:
    """What the operator is told beside the pattern."""

    input_type: TypeInformation
    is_event_time: bool = True
    comparator: Comparator | None = None
    """The order of events of the same time; None: as they came."""
    late_data_tag: OutputTag | None = None
    near_misses_tag: OutputTag | None = None
    limit: int = 10_000
    """So many partial matches may a key have of a pattern."""


@dataclass(frozen=True)
class PatternUpdate:
    """A change of the patterns of a running job."""

    id: str
    definition: PatternDefinition | None
    """None: the pattern goes."""
