"""Functions of records, read as Python reads them and computed over columns where that keeps their meaning."""

from penstock.tracing.accumulations import TracedAccumulation
from penstock.tracing.keys import TracedKey
from penstock.tracing.pairs import PairProgram, trace_pairs
from penstock.tracing.programs import FilterProgram, MapProgram, trace_filter, trace_key, trace_map, trace_timestamps
from penstock.tracing.reductions import trace_reduction
from penstock.tracing.refusal import NotTraceable, Unproven
from penstock.tracing.timestamps import TracedTimestampAssigner

__all__ = [
    "FilterProgram",
    "MapProgram",
    "NotTraceable",
    "PairProgram",
    "TracedAccumulation",
    "TracedKey",
    "TracedTimestampAssigner",
    "Unproven",
    "trace_filter",
    "trace_key",
    "trace_map",
    "trace_pairs",
    "trace_reduction",
    "trace_timestamps",
]
