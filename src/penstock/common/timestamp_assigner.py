"""Where the timestamps of records come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.common.column_computation import ColumnComputation


class TimestampAssigner(ABC):
    """Gives each record its event time in milliseconds, by convention since 1970-01-01T00:00:00Z.

    >>> class AtCreation(TimestampAssigner):
    ...     def extract_timestamp(self, value, record_timestamp):
    ...         return value["created_ms"]
    """

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The time of a record; `record_timestamp` is the one it has already, -2**63 when it has none."""


class FunctionTimestampAssigner(TimestampAssigner):
    """A function of a record and its timestamp so far."""

    def __init__(self, function: Callable[[Any, int], int]) -> None:
        self.extract = function

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Calls the function."""
        return self.extract(value, record_timestamp)


class RecordTimestampAssigner(TimestampAssigner):
    """Keeps the timestamps that records have, from their source or from an operator before."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The same timestamp."""
        return record_timestamp


class FieldTimestampAssigner(TimestampAssigner):
    """A field of the record, or an expression; on a stream it becomes what computes it from records of their type."""

    def __init__(self, field: str | ColumnComputation) -> None:
        self.field = field

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Not called: another assigner takes the place of this one on a stream."""
        raise NotImplementedError


class IngestionTimeAssigner(TimestampAssigner):
    """Gives records the processing time at which they are read: the time of their epoch.

    For `WatermarkStrategy.for_monotonous_timestamps()`. The time never goes back, also over restarts.
    """

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Not called for single records: whoever reads an epoch knows its time."""
        raise NotImplementedError
