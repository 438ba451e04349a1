"""Functions of records, read as Python reads them and computed over columns where that keeps their meaning."""

from penstock.tracing.keys import TracedKey
from penstock.tracing.programs import FilterProgram, MapProgram, trace_filter, trace_key, trace_map, trace_timestamps
from penstock.tracing.refusal import NotTraceable, Unproven
from penstock.tracing.timestamps import TracedTimestampAssigner

__all__ = [
    "FilterProgram",
    "MapProgram",
    "NotTraceable",
    "TracedKey",
    "TracedTimestampAssigner",
    "Unproven",
    "trace_filter",
    "trace_key",
    "trace_map",
    "trace_timestamps",
]
