"""How many records the bytes of an epoch allow, where only reading tells how large they are."""

from __future__ import annotations

from penstock.connectors.source import EnumeratorContext, EpochBudget

_RECORD_BYTES = "record-bytes"
_FIRST_GUESS_OF_BYTES = 1000
FIRST_RECORDS = 2_000
"""An epoch of records of unknown size has no more: such as have 100 KB are still within the default limit."""


class RecordSize:
    """What an enumerator has learned of the size of its records; kept in its state."""

    def __init__(self, context: EnumeratorContext) -> None:
        self._state = context.state
        self._bounded = context.bounded

    def affordable(self, budget: EpochBudget) -> int:
        """How many records an epoch may have, one at least; batch execution reads everything at once."""
        if self._bounded:
            return budget.max_records
        known: float | None = self._state.get(_RECORD_BYTES)
        if known is None:
            return max(1, min(budget.max_records, budget.max_bytes // _FIRST_GUESS_OF_BYTES, FIRST_RECORDS))
        return max(1, min(budget.max_records, int(budget.max_bytes / known)))

    def learn(self, records: int, size: int) -> None:
        """Takes note of records that were read, and of their bytes."""
        if records:
            seen = size / records
            # Half old, half new: follows what comes without jumping with every small epoch.
            self._state[_RECORD_BYTES] = max(1.0, (self._state.get(_RECORD_BYTES, seen) + seen) / 2)
