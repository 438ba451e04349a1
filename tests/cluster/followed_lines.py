"""A source of your own for pipelined mode: files that grow by lines of JSON, each followed as a split."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from penstock.common import Row, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.live_source import LiveReader, LiveSource
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Json,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)

RECORD = Types.ROW_NAMED(["k", "file"], [Types.LONG(), Types.LONG()])
_LOOK_SECONDS = 0.01


class FollowedLines(Source, LiveSource):
    """The files must be there when the job starts."""

    def __init__(self, *paths: Path) -> None:
        self.paths = [str(path) for path in paths]

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def produced_type(self) -> TypeInformation:
        return RECORD

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        raise NotImplementedError("this source is for pipelined mode alone")

    def create_reader(self) -> SplitReader:
        raise NotImplementedError("this source is for pipelined mode alone")

    def create_live_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _Enumerator(self.paths, context)

    def create_live_reader(self) -> LiveReader:
        return _Reader()


class _Enumerator(SplitEnumerator):
    def __init__(self, paths: Sequence[str], context: EnumeratorContext) -> None:
        self._paths = paths
        self._state = context.state

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        return [SplitRead(path, self._state.get(path, 0)) for path in self._paths]

    def is_exhausted(self) -> bool:
        return False

    def advanced(self, split_id: str, position: Json, finished: bool) -> None:
        self._state[split_id] = position

    def live_splits(self) -> Collection[str]:
        return self._paths


class _Reader(LiveReader):
    def follow(self, reads: Sequence[SplitRead]) -> None:
        self._paths = [Path(read.split_id) for read in reads]
        self._positions = [read.start for read in reads]

    def poll(self, seconds: float) -> list[tuple[int, Batch]]:
        end = time.monotonic() + seconds
        while True:
            arrived = [(place, batch) for place in range(len(self._paths)) if (batch := self._next(place)) is not None]
            if arrived or time.monotonic() >= end:
                return arrived
            time.sleep(_LOOK_SECONDS)

    def position(self, place: int) -> Json:
        return self._positions[place]

    def finished(self, place: int) -> bool:
        return False

    def _next(self, place: int) -> Batch | None:
        with self._paths[place].open("rb") as file:
            file.seek(self._positions[place])
            lines = [line for line in file.read().splitlines(keepends=True) if line.endswith(b"\n")]
        if not lines:
            return None
        self._positions[place] += sum(map(len, lines))
        return Batch(codec_for(RECORD), values=[Row(**json.loads(line)) for line in lines])
