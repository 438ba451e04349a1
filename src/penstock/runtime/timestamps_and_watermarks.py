"""A watermark strategy at work on one sequence of records: stamps them and puts watermarks between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import repeat
from operator import length_hint
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.errors import EventTimeError
from penstock.common.kernels import pc
from penstock.common.time import whole_milliseconds
from penstock.common.timestamp_assigner import IngestionTimeAssigner, RecordTimestampAssigner
from penstock.common.watermark_generator import (
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.expressions.timestamps import ExpressionTimestampAssigner
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import MIN_WATERMARK, OperatorContext
from penstock.tracing import TracedTimestampAssigner

_PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class TimeProgress:
    """How far a split or subtask has come in event time: what is kept between epochs, as JSON data."""

    watermark: int = MIN_WATERMARK
    idle: bool = False
    quiet_since: int = 0
    """Processing time of the last records, or of the beginning."""
    asked_at: int = 0
    """Processing time at which the generator was last asked."""
    generator: Any = None
    """What the generator has saved."""
    saved_by: str = ""
    """The class of the generator; empty where an older Penstock has saved it."""

    def restore(self, generator: WatermarkGenerator) -> None:
        """Lets a generator go on; one of another class, where the program has changed, begins anew."""
        if self.generator is not None and self.saved_by in ("", type(generator).__qualname__):
            generator.restore(self.generator)

    def next_tick(self, strategy: WatermarkStrategy, interval: int) -> int | None:
        """When something is to be done though no record comes: the end of patience, or a question to a generator."""
        if interval == 0 or self.idle:
            return None
        due: list[int] = []
        if strategy.idle_timeout_ms is not None:
            due.append(self.quiet_since + strategy.idle_timeout_ms)
        if strategy.follows_clock:
            due.append(self.asked_at + interval)
        return min(due, default=None)

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)


def has_news(strategy: WatermarkStrategy, progress: TimeProgress) -> bool:
    """Whether the generator would say something new if it was asked now; nothing is changed by trying."""
    listener = _Listener(progress)
    try:
        generator = strategy.create_generator()
        progress.restore(generator)
        generator.on_periodic_emit(listener)
    except Exception:
        return True  # raised again, and reported, where the generator works
    return listener.heard


class _Listener(WatermarkOutput):
    def __init__(self, progress: TimeProgress) -> None:
        self._progress = progress
        self.heard = False

    def emit_watermark(self, watermark: Watermark | int) -> None:
        self.heard = self.heard or self._progress.idle or _timestamp_of(watermark) > self._progress.watermark

    def mark_idle(self) -> None:
        self.heard = self.heard or not self._progress.idle

    def mark_active(self) -> None:
        self.heard = self.heard or self._progress.idle


class TimestampsAndWatermarks(WatermarkOutput):
    """Stamps records and lets a generator see them; what it says goes out in line with the records.

    In batch execution records are stamped and nothing else happens: event time has only an end.
    """

    def __init__(
        self,
        strategy: WatermarkStrategy,
        context: OperatorContext,
        progress: TimeProgress,
        *,
        is_split: bool,
    ) -> None:
        self._strategy = strategy
        self._context = context
        self._output = context.output
        self._is_split = is_split
        """Any watermark of a split ends its idleness; of an operator only one that is above the last, as in Flink."""
        self._quiet_since = progress.quiet_since
        self._asked_at = progress.asked_at
        self._announced = False
        self.watermark = progress.watermark
        self.is_idle = progress.idle
        self._generator = self._make_generator(progress)

    def process(self, batch: Batch) -> None:
        """Sends records on with their timestamps, and behind them what the generator says."""
        if len(batch) == 0:
            return
        stamps = self._stamps(batch)
        stamped = batch.with_timestamps(stamps)
        self._quiet_since = self._context.processing_time
        generator = self._generator
        # Of our own classes alone it is known what they make of a record: a subclass may do anything.
        if self._context.batch or type(generator) is NoWatermarksGenerator:
            self._output.emit(stamped)
        elif type(generator) is BoundedOutOfOrdernessWatermarks:
            self._output.emit(stamped)
            if isinstance(stamps, pa.Array):
                generator.on_highest(pc.max(stamps).as_py())
            elif stamps is not None:
                generator.on_highest(max((stamp for stamp in stamps if stamp is not None), default=MIN_TIMESTAMP))
        else:
            self._process_one_by_one(generator, stamped)

    def tick(self, has_more: Callable[[], bool] = lambda: False) -> None:
        """Processing time has come to that of the context: asks the generator, or gives up waiting for records.

        `has_more` says whether there are some that only wait for their turn.
        """
        if self._context.batch or self._context.watermark_interval == 0:
            return
        now = self._context.processing_time
        timeout = self._strategy.idle_timeout_ms
        if timeout is not None and now - self._quiet_since >= timeout and not has_more():
            self.mark_idle()
            return
        self._asked_at = now
        try:
            self._generator.on_periodic_emit(self)
        except Exception as error:
            raise user_function_error(error, self._context) from error

    def go_on(self, *, anew: bool) -> None:
        """Pipelined mode: records can come again, which they could not since the generator was last asked.

        That was no silence. Anew: it is not known what came since, so nothing is idle, as after a restart of Flink.
        """
        now = self._context.processing_time
        if anew:
            self.is_idle, self._quiet_since = False, now
        else:
            self.wait(now - self._asked_at)

    def wait(self, ms: int) -> None:
        """Pipelined mode: so much of the time since the last records, at most, was no silence."""
        if not self.is_idle:
            self._quiet_since = min(self._context.processing_time, self._quiet_since + max(0, ms))

    @property
    def asked_at(self) -> int:
        """When the generator was last asked."""
        return self._asked_at

    def announce(self) -> None:
        """Tells consumers where event time stands, unless something was said already: absent splits count too."""
        if not self._announced and not self._context.batch:
            self._say_idle() if self.is_idle else self._say_watermark()

    def progress(self) -> TimeProgress:
        """What is kept until the next epoch."""
        saved, by = self._saved_generator(), type(self._generator).__qualname__
        return TimeProgress(self.watermark, self.is_idle, self._quiet_since, self._asked_at, saved, by)

    # --- what generators call

    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Sends a watermark on if it is above the last."""
        if self.is_news(watermark):
            self.watermark = max(self.watermark, _timestamp_of(watermark))
            self.is_idle = False
            self._say_watermark()

    def is_news(self, watermark: Watermark | int) -> bool:
        """Whether consumers would hear of this watermark."""
        return _timestamp_of(watermark) > self.watermark or (self._is_split and self.is_idle)

    def mark_idle(self) -> None:
        """Says that nothing is to be expected for now."""
        if not self.is_idle:
            self.is_idle = True
            self._say_idle()

    def mark_active(self) -> None:
        """Takes `mark_idle` back."""
        if self.is_idle:
            self.is_idle = False
            self._say_watermark()

    def _say_watermark(self) -> None:
        self._announced = True
        self._output.emit_watermark(self.watermark)

    def _say_idle(self) -> None:
        self._announced = True
        self._output.emit_idle()

    # --- timestamps

    def _stamps(self, batch: Batch) -> list[int | None] | pa.Array | None:
        assigner = self._strategy.timestamp_assigner
        if isinstance(assigner, ExpressionTimestampAssigner):
            return self._computed_stamps(assigner, batch)
        if isinstance(assigner, TracedTimestampAssigner):
            traced = assigner.timestamps(batch)
            if traced is not None:
                return traced
            assigner = assigner.assigner
        asked = type(assigner).extract_timestamp
        if asked is RecordTimestampAssigner.extract_timestamp:
            return batch.timestamps
        if asked is IngestionTimeAssigner.extract_timestamp:
            return [self._context.processing_time for _ in range(len(batch))]
        before: Iterator[int] = repeat(MIN_TIMESTAMP)
        if batch.timestamps is not None:
            before = (MIN_TIMESTAMP if stamp is None else stamp for stamp in batch.timestamps)
        extract, records = assigner.extract_timestamp, iter(batch.values)
        try:
            stamps: list[Any] = [extract(record, stamp) for record, stamp in zip(records, before, strict=False)]
        except Exception as error:
            record = batch.values[len(batch) - length_hint(records) - 1]
            raise user_function_error(error, self._context, record=record) from error
        # Types first, by sets: a Python call for each record would cost more than the assigner.
        if set(map(type, stamps)) != {int} or min(stamps) <= MIN_TIMESTAMP or max(stamps) > MAX_TIMESTAMP:
            return [self._checked(stamp, record) for stamp, record in zip(stamps, batch.values, strict=True)]
        return stamps

    def _computed_stamps(self, assigner: ExpressionTimestampAssigner, batch: Batch) -> list[int | None] | pa.Array:
        try:
            stamps = assigner.timestamps(batch)
        except RecordEvaluationError as failure:
            raise user_function_error(
                failure.cause, self._context, record=batch.values[failure.index]
            ) from failure.cause
        if stamps.null_count or pc.min(stamps).as_py() <= MIN_TIMESTAMP:
            pairs = zip(stamps.to_pylist(), batch.values, strict=True)
            return [self._checked(stamp, record) for stamp, record in pairs]
        return stamps

    def _checked(self, stamp: Any, record: Any) -> int | None:
        try:
            number = whole_milliseconds(stamp)
        except (AttributeError, TypeError, ValueError, OverflowError):
            assigner = self._strategy.timestamp_assigner
            given = assigner.assigner if isinstance(assigner, TracedTimestampAssigner) else assigner
            error = EventTimeError(
                f"{type(given).__name__} gave a record the timestamp {stamp!r} "
                f"({type(stamp).__name__}); expected milliseconds that fit into 64 bits (records without a time have "
                "to be filtered out before)"
            )
            raise user_function_error(error, self._context, record=record) from None
        return None if number == MIN_TIMESTAMP else number

    # --- generators

    def _process_one_by_one(self, generator: WatermarkGenerator, batch: Batch) -> None:
        """Cuts the batch behind every record after which the generator has something to say."""
        said = _Said(self)
        sent = 0
        stamps = batch.timestamps or [None] * len(batch)
        for index, (value, stamp) in enumerate(zip(batch.values, stamps, strict=True)):
            try:
                generator.on_event(value, MIN_TIMESTAMP if stamp is None else stamp, said)
            except Exception as error:
                raise user_function_error(error, self._context, record=value) from error
            if said.events:
                self._output.emit(batch.part(sent, index + 1))
                sent = index + 1
                said.tell()
        if sent < len(batch):
            self._output.emit(batch.part(sent, len(batch)))

    def _make_generator(self, progress: TimeProgress) -> WatermarkGenerator:
        if self._context.batch:
            return NoWatermarksGenerator()
        try:
            generator = self._strategy.create_generator()
            if not isinstance(generator, WatermarkGenerator):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise EventTimeError(
                    f"what was given to WatermarkStrategy.for_generator made {generator!r} "
                    f"({type(generator).__name__}); expected a WatermarkGenerator"
                )
            progress.restore(generator)
        except Exception as error:
            raise user_function_error(error, self._context) from error
        return generator

    def _saved_generator(self) -> Any:
        try:
            saved = self._generator.snapshot()
            problem = _what_is_not_plain(saved, "snapshot()")
            if problem is not None:
                raise EventTimeError(
                    f"the watermark generator {type(self._generator).__name__} cannot be saved between epochs: "
                    f"{problem}. Override snapshot() and restore(snapshot), and keep to numbers, texts, booleans, "
                    "None, and lists and dicts of those"
                )
        except Exception as error:
            raise user_function_error(error, self._context) from error
        return saved


class _Said(WatermarkOutput):
    """Keeps what a generator says of one record, where it is news, until that record is on its way."""

    def __init__(self, output: TimestampsAndWatermarks) -> None:
        self._output = output
        self.events: list[Callable[[], None]] = []

    def emit_watermark(self, watermark: Watermark | int) -> None:
        if self.events or self._output.is_news(watermark):
            self.events.append(lambda: self._output.emit_watermark(watermark))

    def mark_idle(self) -> None:
        if self.events or not self._output.is_idle:
            self.events.append(self._output.mark_idle)

    def mark_active(self) -> None:
        if self.events or self._output.is_idle:
            self.events.append(self._output.mark_active)

    def tell(self) -> None:
        events, self.events = self.events, []
        for event in events:
            event()


def _timestamp_of(watermark: Watermark | int) -> int:
    timestamp = watermark.timestamp if isinstance(watermark, Watermark) else watermark
    if type(timestamp) is not int or not MIN_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
        raise EventTimeError(
            f"a generator emitted the watermark {timestamp!r} ({type(timestamp).__name__}); expected a Watermark, or "
            "whole milliseconds, that fits into 64 bits"
        )
    return timestamp


def _what_is_not_plain(value: Any, where: str) -> str | None:
    """Says what JSON would not give back as it was; None where there is nothing."""
    if isinstance(value, list):
        return next(filter(None, (_what_is_not_plain(each, f"{where}[{i}]") for i, each in enumerate(value))), None)
    if isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str):
                return f"{where} has the key {key!r}, which is no text"
            problem = _what_is_not_plain(each, f"{where}[{key!r}]")
            if problem is not None:
                return problem
        return None
    return None if type(value) in _PLAIN else f"{where} is {value!r} ({type(value).__name__})"
