"""How a stream gets its timestamps and watermarks: said once, at its source or anywhere behind it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from penstock.common.call_site import capture_call_site
from penstock.common.column_computation import ColumnComputation
from penstock.common.errors import ArgumentError
from penstock.common.time import DurationLike, parse_duration
from penstock.common.timestamp_assigner import (
    FieldTimestampAssigner,
    FunctionTimestampAssigner,
    IngestionTimeAssigner,
    RecordTimestampAssigner,
    TimestampAssigner,
)
from penstock.common.watermark_generator import (
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)

__all__ = [
    "IngestionTimeAssigner",
    "TimestampAssigner",
    "Watermark",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]


@dataclass(frozen=True)
class WatermarkAlignment:
    """Splits of one group wait for those that are behind by more than the drift."""

    group: str
    max_drift_ms: int


@dataclass(frozen=True)
class WatermarkStrategy:
    """Timestamps and watermarks of a stream. Every method returns a new strategy.

    Without a timestamp assigner records keep the timestamps that their source gives them; Kafka does.

    >>> WatermarkStrategy.for_bounded_out_of_orderness("5 s").with_idleness("1 min").describe()
    'watermarks 5000 ms behind, idle after 60000 ms'
    """

    create_generator: Callable[[], WatermarkGenerator]
    """Makes a new generator: one per split or subtask."""
    description: str = "watermarks of a custom generator"
    timestamp_assigner: TimestampAssigner = dataclasses.field(default_factory=RecordTimestampAssigner)
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @cached_property
    def follows_clock(self) -> bool:
        """Whether generators may have something to say without records: those that emit periodically, but ours."""
        try:
            generator = type(self.create_generator())
        except Exception:  # raised again, and reported, where the generator works
            return False
        ours = (BoundedOutOfOrdernessWatermarks, NoWatermarksGenerator)
        return generator not in ours and generator.on_periodic_emit is not WatermarkGenerator.on_periodic_emit

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """For records whose timestamps never fall, within a split or subtask."""
        return _bounded(0, "watermarks at the highest timestamp")

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: DurationLike) -> WatermarkStrategy:
        """For records out of order by a limited time: watermarks stay so far behind the highest timestamp."""
        delay = _duration("for_bounded_out_of_orderness", "max_out_of_orderness", max_out_of_orderness)
        return _bounded(delay, f"watermarks {delay} ms behind")

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """No watermarks: event time stands still until the input ends."""
        return WatermarkStrategy(NoWatermarksGenerator, "no watermarks")

    @staticmethod
    def for_generator(generator_supplier: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """A generator of your own: its class, or a function without arguments that makes one."""
        if isinstance(generator_supplier, WatermarkGenerator):
            raise _refusal(
                "for_generator", "generator_supplier", generator_supplier,
                f"what makes generators, for there is one for each split: write {type(generator_supplier).__name__}, "
                f"or lambda: {type(generator_supplier).__name__}(...)",
            )  # fmt: skip
        if not callable(generator_supplier) or not _takes(generator_supplier, 0):
            raise _refusal(
                "for_generator", "generator_supplier", generator_supplier,
                "a class of generators, or a function without arguments that makes one",
            )  # fmt: skip
        return WatermarkStrategy(generator_supplier)

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int] | str | ColumnComputation
    ) -> WatermarkStrategy:
        """Takes timestamps from a `TimestampAssigner`, or from a function of a record and its timestamp so far.

        The name of a field, or an expression (`col("seconds") * 1000`), gives the times of many records at once.
        """
        if isinstance(timestamp_assigner, str | ColumnComputation):
            return dataclasses.replace(self, timestamp_assigner=FieldTimestampAssigner(timestamp_assigner))
        if isinstance(timestamp_assigner, TimestampAssigner):
            return dataclasses.replace(self, timestamp_assigner=timestamp_assigner)
        if (
            isinstance(timestamp_assigner, type)
            or not callable(timestamp_assigner)
            or not _takes(timestamp_assigner, 2)
        ):
            raise _refusal(
                "with_timestamp_assigner", "timestamp_assigner", timestamp_assigner,
                "a TimestampAssigner, a function of a record and its timestamp so far, the name of a field, or an "
                "expression",
            )  # fmt: skip
        return dataclasses.replace(self, timestamp_assigner=FunctionTimestampAssigner(timestamp_assigner))

    def with_idleness(self, idle_timeout: DurationLike) -> WatermarkStrategy:
        """Leaves a split or subtask out of event time when nothing came from it for so long."""
        timeout = _duration("with_idleness", "idle_timeout", idle_timeout)
        if timeout < 1:
            raise _refusal("with_idleness", "idle_timeout", idle_timeout, "a time of at least 1 ms")
        return dataclasses.replace(self, idle_timeout_ms=timeout)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: DurationLike,
        update_interval: DurationLike | None = None,
    ) -> WatermarkStrategy:
        """Holds splits back that are ahead of the slowest in the group by more than the drift.

        Sources of one job with the same group name wait for each other. It is looked at before every epoch,
        whatever `update_interval` says. Results are the same; what waits in state for the slowest is less. Only
        sources can be held back: on `assign_timestamps_and_watermarks` it does nothing.
        """
        if not isinstance(watermark_group, str) or not watermark_group:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _refusal("with_watermark_alignment", "watermark_group", watermark_group, "the name of a group")
        drift = _duration("with_watermark_alignment", "max_allowed_watermark_drift", max_allowed_watermark_drift)
        if update_interval is not None:
            _duration("with_watermark_alignment", "update_interval", update_interval)
        return dataclasses.replace(self, alignment=WatermarkAlignment(watermark_group, drift))

    def describe(self) -> str:
        """A few words for `explain()`."""
        idle = "" if self.idle_timeout_ms is None else f", idle after {self.idle_timeout_ms} ms"
        aligned = "" if self.alignment is None else f", aligned in group '{self.alignment.group}'"
        return self.description + idle + aligned


def _bounded(delay_ms: int, description: str) -> WatermarkStrategy:
    return WatermarkStrategy(lambda: BoundedOutOfOrdernessWatermarks(delay_ms), description)


def _duration(method: str, argument: str, value: DurationLike) -> int:
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ArgumentError(f"WatermarkStrategy.{method}: `{argument}`: {error}\n  at {capture_call_site()}") from None


def _takes(function: Callable[..., Any], arguments: int) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True  # builtins that do not tell
    try:
        signature.bind(*[None] * arguments)
    except TypeError:
        return False
    return True


def _refusal(method: str, argument: str, value: object, expected: str) -> ArgumentError:
    return ArgumentError(
        f"WatermarkStrategy.{method}: `{argument}` is {value!r} ({type(value).__name__}); expected {expected}"
        f"\n  at {capture_call_site()}"
    )
