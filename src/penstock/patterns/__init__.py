"""Patterns of events: steps, conditions, what happens after a match."""

from penstock.patterns.after_match import (
    AfterMatchSkipStrategy,
    NoSkip,
    SkipPastLastEvent,
    SkipToNext,
    SkipToStep,
)
from penstock.patterns.conditions import (
    ALWAYS,
    Always,
    Both,
    Condition,
    ConditionContext,
    ConditionLike,
    Either,
    IterativeCondition,
    Negation,
    OfColumns,
    OfEvent,
    OfMatch,
    OfType,
    SimpleCondition,
    both,
    condition_of,
)
from penstock.patterns.definition import Contiguity, PatternDefinition, Step, WithinType
from penstock.patterns.measures import MatchMeasures, RowsPerMatch
from penstock.patterns.process_function import Match, MatchedEvents, NearMiss, PatternProcessFunction
from penstock.patterns.settings import CepSettings, Comparator, PatternUpdate

__all__ = [
    "ALWAYS",
    "AfterMatchSkipStrategy",
    "Always",
    "Both",
    "CepSettings",
    "Comparator",
    "Condition",
    "ConditionContext",
    "ConditionLike",
    "Contiguity",
    "Either",
    "IterativeCondition",
    "Match",
    "MatchMeasures",
    "MatchedEvents",
    "NearMiss",
    "Negation",
    "NoSkip",
    "OfColumns",
    "OfEvent",
    "OfMatch",
    "OfType",
    "PatternDefinition",
    "PatternProcessFunction",
    "PatternUpdate",
    "RowsPerMatch",
    "SimpleCondition",
    "SkipPastLastEvent",
    "SkipToNext",
    "SkipToStep",
    "Step",
    "WithinType",
    "both",
    "condition_of",
]
