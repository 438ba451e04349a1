"""How far apart two records are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.windows.checks import refuse_argument

T = TypeVar("T")


class DeltaFunction(ABC, Generic[T]):
    """Measures the distance between two records."""

    @abstractmethod
    def get_delta(self, old_data_point: T, new_data_point: T) -> float:
        """The distance from the older to the newer one."""


DeltaLike = DeltaFunction[Any] | Callable[[Any, Any], float]
"""A `DeltaFunction`, or a plain function of two records."""


def delta_callable(maker: str, delta_function: DeltaLike) -> Callable[[Any, Any], float]:
    """What to call with an older and a newer record."""
    if isinstance(delta_function, DeltaFunction):
        return delta_function.get_delta
    if callable(delta_function) and not isinstance(delta_function, type):
        return delta_function
    raise refuse_argument(maker, "delta_function", delta_function, "a DeltaFunction or a function of two records")
