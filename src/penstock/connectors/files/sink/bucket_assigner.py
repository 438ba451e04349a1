"""Which directory a record goes to: bucket assigners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.errors import ConfigurationError, SinkError, TypeMismatchError
from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.files.sink.date_time_format import DateTimeFormat
from penstock.expressions.evaluator import Evaluator
from penstock.expressions.expression import Expression


@dataclass
class BucketContext:
    """The times that an assigner may ask for."""

    _processing_time: Callable[[], int]
    _watermark: Callable[[], int]
    _timestamp: int | None = None

    def timestamp(self) -> int | None:
        """The event time of the record in ms; None where it has none."""
        return self._timestamp

    def current_watermark(self) -> int:
        """How far event time has come, in ms."""
        return self._watermark()

    def current_processing_time(self) -> int:
        """The time in ms; constant within an epoch, except in pipelined mode, where epochs last."""
        return self._processing_time()

    def of_record(self, timestamp: int | None) -> BucketContext:
        """The context of one record."""
        self._timestamp = timestamp
        return self


class BucketAssigner(ABC):
    """Says in which directory below the sink's own a record is written. A class of your own has `get_bucket_id`."""

    Context = BucketContext

    @property
    def knows_ends(self) -> bool:
        """Whether `end_of` tells when a bucket is complete."""
        return False

    @abstractmethod
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """A path relative to the sink's directory; empty for the directory itself."""

    def split(self, batch: Batch, context: BucketContext) -> Iterator[tuple[str, Batch]]:
        """The records by their bucket, each in its order; buckets in the order of their first record."""
        times = batch.timestamps or [None] * len(batch)
        ids = [
            self.get_bucket_id(value, context.of_record(time)) for value, time in zip(batch.values, times, strict=True)
        ]
        for index, each in enumerate(ids):
            if not isinstance(each, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeMismatchError(
                    f"a bucket assigner must return text, got {each!r} ({type(each).__name__})", index=index
                )
        yield from split_by(batch, pa.array(ids, pa.string()))

    def for_records(self, record_type: TypeInformation) -> BucketAssigner:
        """The assigner for records of a type; called where the program is built."""
        return self

    def end_of(self, bucket: str) -> int | None:
        """The event time in ms at which a bucket is complete; None where the assigner cannot tell."""
        return None

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """All files are in the sink's directory itself."""
        return _BasePath()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """A directory for each hour, or what the pattern says, of processing time."""
        return _DateTime(DateTimeFormat(format_str, timezone_id), of_event_time=False)

    @staticmethod
    def event_time_bucket_assigner(
        format_str: str = "'dt='yyyy-MM-dd/'hour='HH", timezone_id: str | None = "UTC"
    ) -> BucketAssigner:
        """A directory for each hour, or what the pattern says, of the records' timestamps."""
        return _DateTime(DateTimeFormat(format_str, timezone_id), of_event_time=True)

    @staticmethod
    def by(bucket: Callable[[Any], str] | Expression) -> BucketAssigner:
        """The directory that a function of the record, or an expression over its fields, gives.

        `BucketAssigner.by(concat("country=", col("country")))` is computed for many records at once.
        """
        if isinstance(bucket, Expression):
            return _ByExpression(bucket)
        if not callable(bucket):
            raise ConfigurationError(f"a bucket is given by a function of the record or an expression, got {bucket!r}")
        return _ByFunction(bucket)


@dataclass(frozen=True)
class _BasePath(BucketAssigner):
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return ""

    def split(self, batch: Batch, context: BucketContext) -> Iterator[tuple[str, Batch]]:
        yield "", batch


@dataclass(frozen=True)
class _DateTime(BucketAssigner):
    form: DateTimeFormat
    of_event_time: bool

    @property
    def knows_ends(self) -> bool:
        return self.of_event_time and self.form.tells_date

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        if not self.of_event_time:
            return self.form.text(context.current_processing_time())
        time = context.timestamp()
        if time is None:
            raise _without_timestamp(element)
        return self.form.text(time)

    def split(self, batch: Batch, context: BucketContext) -> Iterator[tuple[str, Batch]]:
        if not self.of_event_time:
            yield self.form.text(context.current_processing_time()), batch
            return
        if batch.timestamps is None or None in batch.timestamps:
            raise _without_timestamp(batch.values[0 if batch.timestamps is None else batch.timestamps.index(None)])
        resolution = self.form.resolution_ms
        quotients = [time // resolution for time in batch.timestamps if time is not None]
        texts = {quotient: self.form.text(quotient * resolution) for quotient in set(quotients)}
        yield from split_by(batch, pa.array([texts[quotient] for quotient in quotients], pa.string()))

    def end_of(self, bucket: str) -> int | None:
        return self.form.end_of(bucket)


@dataclass(frozen=True)
class _ByFunction(BucketAssigner):
    function: Callable[[Any], str]

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return self.function(element)


@dataclass(frozen=True)
class _ByExpression(BucketAssigner):
    expression: Expression
    record_type: TypeInformation | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_evaluator"}

    def for_records(self, record_type: TypeInformation) -> BucketAssigner:
        bound = replace(self, record_type=record_type)
        assert bound._evaluator  # finds out whether the fields are there
        return bound

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        raise NotImplementedError("an expression gives the buckets of many records at once")

    def split(self, batch: Batch, context: BucketContext) -> Iterator[tuple[str, Batch]]:
        (ids,) = self._evaluator.columns(batch.columns, len(batch))
        yield from split_by(batch, ids)

    @cached_property
    def _evaluator(self) -> Evaluator:
        assert self.record_type is not None
        return Evaluator(self.expression, self.record_type, Types.STRING())


def split_by(batch: Batch, ids: pa.Array) -> Iterator[tuple[str, Batch]]:
    """The records by the text beside each."""
    if ids.null_count:
        raise SinkError("a record has no bucket: what the bucket assigner gave for it is None")
    encoded = pc.dictionary_encode(ids)
    if len(encoded.dictionary) == 1:
        yield checked_bucket(encoded.dictionary[0].as_py()), batch
        return
    for code, bucket in enumerate(encoded.dictionary.to_pylist()):
        places = pc.indices_nonzero(pc.equal(encoded.indices, code))
        yield checked_bucket(bucket), _taken(batch, places)


def checked_bucket(bucket: str) -> str:
    """The bucket, if it is a relative path of visible names."""
    parts = bucket.split("/") if bucket else []
    if any(part in ("", ".", "..") or part.startswith((".", "_")) or "\0" in part for part in parts):
        raise SinkError(
            f"the bucket {bucket!r} is no path of visible names below the sink's directory: parts must not be empty "
            "or begin with '.' or '_'"
        )
    return bucket


def _taken(batch: Batch, places: pa.Array) -> Batch:
    times = batch.timestamps
    if batch.is_columnar:
        return Batch(
            batch.codec,
            columns=[column.take(places) for column in batch.columns],
            timestamps=None if times is None else [times[place] for place in places.to_pylist()],
        )
    chosen = places.to_pylist()
    return Batch(
        batch.codec,
        values=[batch.values[place] for place in chosen],
        timestamps=None if times is None else [times[place] for place in chosen],
    )


def _without_timestamp(record: Any) -> SinkError:
    return SinkError(
        f"the record {record!r} has no timestamp, and its bucket is one of event time: assign timestamps first, with "
        "assign_timestamps_and_watermarks"
    )
