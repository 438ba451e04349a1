"""A source that does what a test tells it: records, watermarks, pauses and failures, at given places."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ArgumentError, SourceError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.datastream.output_types import TypeHint, type_from_hint
from penstock.runtime.operator import MIN_WATERMARK
from penstock.testing.script import Failure, Pause, Record, Step, Watermark

Script = Sequence[Step]
"""What one split does; then it ends."""


class ScriptedSource(Source):
    """Each list of steps is a split: what is in it happens one after the other, and then the split ends.

    - `record(value, timestamp)` is a record. Without `type_info` records are any Python objects.
    - `watermark(timestamp)` is how far event time has come in the split, and never falls. It counts where the stream
      has no `WatermarkStrategy`; a strategy makes its own.
    - `pause(duration)`: the split has nothing to read for so long. On a `VirtualClock` that takes no time.
    - `fail()`: the reader fails, in the middle of an epoch; with a restart strategy, or started again with the same
      checkpoint, the job goes on.

    In batch execution there are no pauses and no watermarks.

    >>> from penstock.testing import local_environment, pause, record, watermark
    >>> source = ScriptedSource([record("a", 1), watermark(1), pause("1 min"), record("b", 2)])
    >>> list(local_environment().from_source(source).execute_and_collect())
    ['a', 'b']
    """

    def __init__(self, *splits: Script, type_info: TypeHint = None) -> None:
        for number, script in enumerate(splits):
            wrong = [step for step in script if not isinstance(step, Step)]  # pyright: ignore[reportUnnecessaryIsInstance]
            if wrong:
                raise ArgumentError(
                    f"ScriptedSource: split {number} has the step {wrong[0]!r}; expected record(...), watermark(...), "
                    "pause(...) or fail()"
                )
            told = [step.timestamp for step in script if isinstance(step, Watermark)]
            for before, after in pairwise(told):
                if after < before:
                    raise ArgumentError(
                        f"ScriptedSource: split {number} has watermark({after}) behind watermark({before}); event time "
                        "does not go back: leave the lower one out"
                    )
        self.splits = {str(number): tuple(script) for number, script in enumerate(splits)}
        self._type = Types.PICKLED_BYTE_ARRAY()
        if type_info is not None:
            self._type = type_from_hint("ScriptedSource", "type_info", type_info)
        self._directory: str | None = None

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type

    def prepared(self, directory: str) -> Source:
        """The source with a place to remember its failures: a reader that starts again must not fail again."""
        prepared = ScriptedSource(*self.splits.values(), type_info=self._type)
        prepared._directory = directory
        return prepared

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _ScriptEnumerator(self, context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _ScriptReader(self)

    def describe(self) -> str:  # noqa: D102
        return f"script of {len(self.splits)} splits"

    def must_fail(self, split: str, place: int, times: int) -> bool:
        """Whether the step at this place has not failed as often as it should."""
        assert self._directory is not None, "jobs read prepared sources"
        failed = Path(self._directory, f"failed-{split}-{place}")
        before = len(failed.read_text()) if failed.exists() else 0
        if before >= times:
            return False
        failed.parent.mkdir(parents=True, exist_ok=True)
        failed.write_text("x" * (before + 1))
        return True


class _ScriptEnumerator(SplitEnumerator):
    """State: per split, the next step, and when its pause is over if it is at one."""

    def __init__(self, source: ScriptedSource, context: EnumeratorContext) -> None:
        self._splits = source.splits
        self._state = context.state
        self._bounded = context.bounded

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        unfinished = self.live_splits()
        share = max(1, budget.max_records // max(1, len(unfinished)))
        reads = (self._read_of(split, now, share) for split in unfinished)
        return [read for read in reads if read is not None]

    def is_exhausted(self) -> bool:
        return not self.live_splits()

    def live_splits(self) -> Collection[str]:
        return [split for split in self._splits if not self._state.get(split, {}).get("finished", False)]

    def next_poll(self, now: int) -> int:
        pauses = [self._state[split]["until"] for split in self.live_splits() if split in self._state]
        return min((until for until in pauses if until is not None), default=now + 1)

    def _read_of(self, split: str, now: int, share: int) -> SplitRead | None:
        steps = self._splits[split]
        is_new = split not in self._state
        place = self._state.get(split, {"place": 0, "until": None})
        start, until = place["place"], place["until"]
        if not self._bounded:
            if until is not None and until <= now:
                start, until = start + 1, None
            if start < len(steps) and isinstance(pausing := steps[start], Pause) and until is None:
                until = now + pausing.millis
        end = start if until is not None else self._end_of_read(steps, start, share)
        finishes = until is None and end == len(steps)
        self._state[split] = {"place": end, "until": until, "finished": finishes}
        if until is not None and not is_new:
            return None
        # A split that pauses from the beginning is read all the same: event time has to wait for it.
        return SplitRead(split, start, end, finishes=finishes, size=max(1, end - start))

    def _end_of_read(self, steps: Script, start: int, share: int) -> int:
        if self._bounded:
            return len(steps)
        end = start
        while end < len(steps) and not isinstance(steps[end], Pause):
            if isinstance(steps[end], Record):
                if share == 0:
                    break
                share -= 1
            end += 1
        return end


class _ScriptReader(SplitReader):
    def __init__(self, source: ScriptedSource) -> None:
        self._source = source
        self._codec = codec_for(source.produced_type)

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        steps = self._source.splits[read.split_id]
        told = [step.timestamp for step in steps[: read.start] if isinstance(step, Watermark)]
        self.watermark = told[-1] if told else MIN_WATERMARK
        waiting: list[Record] = []
        for place in range(read.start, read.end or 0):
            step = steps[place]
            match step:
                case Record():
                    waiting.append(step)
                case Watermark():
                    # Also without records: each watermark is told by itself.
                    yield self._batch(waiting)
                    waiting = []
                    self.watermark = step.timestamp
                case Failure(times):
                    yield self._batch(waiting)
                    waiting = []
                    if self._source.must_fail(read.split_id, place, times):
                        raise SourceError(f"step {place} of split {read.split_id} fails, as the script says")
                case Pause():
                    pass
        if waiting:
            yield self._batch(waiting)
        self.position = read.end
        self.finished = read.finishes

    def _batch(self, records: list[Record]) -> Batch:
        values: list[Any] = [each.value for each in records]
        if all(each.timestamp is None for each in records):
            return Batch(self._codec, values=values)
        return Batch(self._codec, values=values, timestamps=[each.timestamp for each in records])
