"""Which columns the partial aggregates of windows have."""

from __future__ import annotations

from penstock.runtime.columnar_windows.partial_aggregates import PartialAggregates
from penstock.runtime.columnar_windows.partial_records import PartialRecords
from penstock.runtime.columnar_windows.partial_sums import PartialSums
from penstock.runtime.columnar_windows.parts import PartialRows
from penstock.windows.definition import WindowDefinition


def partial_rows(definition: WindowDefinition, *, counts_records: bool = False) -> PartialRows:
    """The columns for windows that are computed in columns."""
    if definition.reduction is not None:
        return PartialRecords(definition.reduction, counts_records=counts_records)
    if definition.accumulation is not None:
        return PartialSums(definition.accumulation, counts_records=counts_records)
    assert definition.aggregation is not None
    return PartialAggregates(definition.aggregation, counts_records=counts_records)
