"""Complex event processing: patterns of events in streams."""

from penstock.cep.cep import CEP
from penstock.cep.functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
)
from penstock.cep.pattern import GroupPattern, Pattern
from penstock.cep.pattern_data import pattern_from_dict, pattern_from_json, pattern_from_yaml
from penstock.cep.pattern_stream import PatternStream
from penstock.patterns import (
    AfterMatchSkipStrategy,
    IterativeCondition,
    MatchedEvents,
    MatchMeasures,
    NearMiss,
    PatternProcessFunction,
    RowsPerMatch,
    SimpleCondition,
    WithinType,
)

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "GroupPattern",
    "IterativeCondition",
    "MatchMeasures",
    "MatchedEvents",
    "NearMiss",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "RowsPerMatch",
    "SimpleCondition",
    "WithinType",
    "pattern_from_dict",
    "pattern_from_json",
    "pattern_from_yaml",
]
