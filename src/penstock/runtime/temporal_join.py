"""The operator behind `temporal_join`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from penstock.common.batch import RecordCodec
from penstock.common.typeinfo import TypeInformation
from penstock.functions.adapt import join_callable
from penstock.functions.join_kind import JoinKind
from penstock.functions.output_tag import OutputTag
from penstock.runtime.failures import user_function_error
from penstock.runtime.timed_join_operator import LEFT, RIGHT, TimedJoinOperator


class TemporalJoinOperator(TimedJoinOperator):
    """Joins every left record with the right one, the *version*, that is the newest at its time.

    Left records wait until the watermark has reached their time: then no version up to it is expected any more. Of
    the versions up to the watermark the newest is kept, for what comes later.
    """

    def __init__(
        self,
        function: Any,
        join_kind: JoinKind,
        input_types: Sequence[TypeInformation | None],
        late_data_tags: Sequence[OutputTag | None],
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        super().__init__(function, input_types, late_data_tags, output_codec, side_output_codecs)
        self._join = join_callable(function)
        self._join_kind = join_kind
        self._record: Any = None
        """The left record that is being joined."""

    def _results(
        self,
        keys: Sequence[bytes],
        times: Sequence[int | None],
        records: Iterator[Any],
        side: int,
        stamps: list[int | None],
    ) -> Iterator[Any]:
        take = self._take_left if side == LEFT else self._take_version
        for key, time, record in zip(keys, times, records, strict=True):
            take(key, self._required(time), record)
        yield from ()

    def _take_left(self, key: bytes, time: int, record: Any) -> None:
        if not self._is_too_late(record, time, LEFT) and self._kept[LEFT].add(key, time, record):
            self._keep_until(time, key)

    def _take_version(self, key: bytes, time: int, version: Any) -> None:
        """A version that comes late still holds for what is yet to be joined, unless a newer one does."""
        versions, watermark = self._kept[RIGHT], self.current_watermark
        if time <= watermark:
            times = versions.of(key).times
            known = bisect_right(times, watermark)
            if known and times[known - 1] > time:
                self._drop(version, time, RIGHT)
                return
        versions.replace(key, time, version)
        versions.remove_superseded(key, watermark)
        self._keep_first_version_until_the_next(key)

    def _keep_first_version_until_the_next(self, key: bytes) -> None:
        if second := self._kept[RIGHT].of(key).times[1:2]:
            self._keep_until(second[0], key)

    def _pass_time(self, key: bytes, time: int, stamps: list[int | None]) -> Iterable[Any]:
        waiting, versions = self._kept
        history = versions.of(key)
        for record_time, records in waiting.remove_until(key, time):
            version = history.before(record_time)
            if version is None and not self._join_kind.keeps_left:
                continue
            for record in records:
                self._record = record
                for each in self._join(record, None if version is None else version[0]) or ():
                    stamps.append(record_time)
                    yield each
        versions.remove_superseded(key, time)
        self._keep_first_version_until_the_next(key)
        if first := waiting.of(key).times[:1]:
            self._keep_until(first[0], key)

    def _timer_failure(self, error: Exception) -> Exception:
        return user_function_error(error, self._context, key=self._state.current_key, record=self._record)
