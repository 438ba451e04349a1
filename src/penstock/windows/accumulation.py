"""An aggregate function that is known to add up integers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import pyarrow as pa


class Accumulation(ABC):
    """What an `AggregateFunction` adds to its accumulator for each record: sums of integers, from zero."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many sums there are."""

    @abstractmethod
    def of_records(self, columns: Sequence[pa.Array], count: int) -> list[pa.Array]:
        """What each record adds to each sum; raises `RecordEvaluationError`."""

    @abstractmethod
    def result(self, sums: Sequence[int]) -> Any:
        """What the function makes of its accumulator."""

    @abstractmethod
    def __str__(self) -> str: ...
