"""A source in plain Python: splits, and pages of records that tasks ask for in parallel."""

from __future__ import annotations

import copy
import json
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import SourceError
from penstock.common.time import DurationLike, parse_duration
from penstock.connectors.broken_records import FAIL, BrokenRecords, OnError, checked_on_error
from penstock.connectors.readable_values import as_bytes, readable_values
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
from penstock.functions.output_tag import OutputTag

T = TypeVar("T")

_SPLIT = "split:"
_LISTED = "listed"


@dataclass(frozen=True)
class Page:
    """What one question for the records behind a position gave."""

    records: Sequence[Any]
    position: Json
    """Where the next page begins: JSON. No records and the same position: there is nothing more for now."""
    timestamps: Sequence[int | None] | None = None
    """The event time of each record, in ms."""
    is_last: bool = False
    """True when the split ends with this page."""


class PollingSource(Source):
    """Something that is asked for records, page by page: a web service, a queue with offsets, a folder of documents.

    A *split* is what has an order of its own and can be read beside the others: an account, a topic, a shard. The
    driver asks for the names of the splits, from time to time; tasks ask for pages, as many splits at a time as there
    are tasks. The *position* behind the last page is part of the checkpoint, so that after a restart reading goes on
    exactly there. What was before a position must never change; how many records come in one page may.

    Instances are pickled to the tasks: keep connections out of `__init__`, and make them in `open`.
    """

    poll_interval: DurationLike = "1 s"
    """How long a split rests that had nothing more."""
    discovery_interval: DurationLike = "1 min"
    """How often a source without an end asks for new splits."""
    on_error: OnError = FAIL
    """What becomes of records that `to_record` refuses or that are not of the type: `"fail"`, `"skip"`, or the
    `OutputTag` of a side output."""

    @property
    def broken_records_tag(self) -> OutputTag | None:
        """The side output for records that cannot be read, where there is one."""
        on_error = checked_on_error(self.on_error)
        return on_error if isinstance(on_error, OutputTag) else None

    @property
    def boundedness(self) -> Boundedness:
        """Unbounded, unless told otherwise; a bounded source has the splits that are there when it starts."""
        return Boundedness.CONTINUOUS_UNBOUNDED

    @abstractmethod
    def splits(self) -> Iterable[str]:
        """The names of the splits, called in the driver. Those that were named before go on where they are."""

    @abstractmethod
    def read_page(self, split: str, position: Json) -> Page:
        """The records of a split behind a position; called in a task."""

    def to_record(self, item: Any) -> Any:
        """The record for one of the `records` of a page, which is itself unless told otherwise; called in a task.

        What it raises makes this one record a broken one, for which `on_error` is.
        """
        return item

    def first_position(self, split: str) -> Json:
        """Where a split begins; None unless told otherwise."""
        return None

    def has_more(self, split: str, position: Json) -> bool:
        """Whether it is worth asking for a page; called in the driver. Without it an epoch is run to find out."""
        return True

    def open(self) -> None:
        """Called in a task before the first page."""
        return

    def close(self) -> None:
        """Called in a task when no more pages are asked for; not promised when a worker process ends."""
        return

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _PollingEnumerator(self, context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        # A copy: what `open` makes belongs to one reader, and never travels.
        return _PageReader(copy.copy(self))


class _PollingEnumerator(SplitEnumerator):
    """State: `split:<name>` -> [position, whether it has ended]; whether a bounded source knows its splits."""

    def __init__(self, source: PollingSource, context: EnumeratorContext) -> None:
        self._source = source
        self._state = context.state
        self._reads_all = context.bounded
        self._lists_once = context.bounded or source.boundedness is Boundedness.BOUNDED
        self._poll_interval = parse_duration(source.poll_interval)
        self._discovery_interval = parse_duration(source.discovery_interval)
        self._next_discovery: int | None = None
        self._handed_out: dict[str, tuple[int, Json]] = {}
        """Splits that are being read: since when, and from where."""
        self._rests_until: dict[str, int] = {}
        self._held_back: frozenset[str] = frozenset()

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        self._discover(now)
        ready = [
            (split, self._state[_SPLIT + split][0])
            for split in self.live_splits()
            if split not in self._handed_out and split not in self._held_back and self._rests_until.get(split, 0) <= now
        ]
        if not self._reads_all:
            ready = [(split, position) for split, position in ready if self._is_worth_it(split, position, now)]
        limit = max(1, budget.max_records // max(1, len(ready)))
        for split, position in ready:
            self._handed_out[split] = (now, position)
        return [self._read(split, position, limit) for split, position in ready]

    def is_exhausted(self) -> bool:
        if not self._lists_once or _LISTED not in self._state:
            return False
        unread = set(self.live_splits())
        return not (unread - self._handed_out.keys() if self._reads_all else unread)

    def advanced(self, split_id: str, position: Json, finished: bool) -> None:
        asked_at, start = self._handed_out.pop(split_id)
        self._state[_SPLIT + split_id] = [position, finished]
        if position == start:
            self._rests_until[split_id] = asked_at + self._poll_interval
        else:
            self._rests_until.pop(split_id, None)

    def live_splits(self) -> Collection[str]:
        return [
            name.removeprefix(_SPLIT) for name, known in self._state.items() if name.startswith(_SPLIT) and not known[1]
        ]

    def hold_back(self, split_ids: Collection[str]) -> None:
        self._held_back = frozenset(split_ids)

    def next_poll(self, now: int) -> int:
        times = [self._rests_until.get(split, now) for split in self.live_splits() if split not in self._held_back]
        if self._next_discovery is not None:
            times.append(self._next_discovery)
        return max(now + 1, min(times, default=now + self._poll_interval))

    def _discover(self, now: int) -> None:
        if self._lists_once:
            if _LISTED in self._state:
                return
            self._state[_LISTED] = True
        else:
            if self._next_discovery is not None and now < self._next_discovery:
                return
            self._next_discovery = now + self._discovery_interval
        for split in _asked(self._source, "splits()", lambda: list(self._source.splits())):
            if not isinstance(split, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise SourceError(f"{self._source.describe()}: splits() names {split!r}; the name of a split is a str")
            if _SPLIT + split not in self._state:
                first = _asked(self._source, "first_position", lambda name=split: self._source.first_position(name))
                self._state[_SPLIT + split] = [_as_json(self._source, first), False]

    def _is_worth_it(self, split: str, position: Json, now: int) -> bool:
        if _asked(self._source, "has_more", lambda: self._source.has_more(split, position)):
            return True
        self._rests_until[split] = now + self._poll_interval
        return False

    def _read(self, split: str, position: Json, limit: int) -> SplitRead:
        # Batch execution reads each split in one go, whatever its size.
        return SplitRead(split, position, descriptor={"limit": None if self._reads_all else limit})


class _PageReader(SplitReader):
    def __init__(self, source: PollingSource) -> None:
        self._source = source
        self._codec = codec_for(source.produced_type)
        self._broken = self.broken_records = BrokenRecords(checked_on_error(source.on_error))
        self._is_open = False

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        if not self._is_open:
            self._source.open()
            self._is_open = True
        limit: int | None = read.descriptor["limit"]
        position, count, self.finished = read.start, 0, False
        while not self.finished and (limit is None or count < limit):
            page = self._source.read_page(read.split_id, position)
            if not isinstance(page, Page):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise SourceError(f"{self._source.describe()}: read_page returned {page!r}; expected a Page")
            before, position = position, _as_json(self._source, page.position)
            self.finished = page.is_last
            if page.records:
                if position == before and not page.is_last:
                    raise SourceError(
                        f"{self._source.describe()}: a page of split {read.split_id!r} has {len(page.records)} records "
                        f"and ends where it began, at {position!r}: they would be read for ever. Let `position` of "
                        "the page be where the next one begins"
                    )
                count += len(page.records)
                yield from self._batches(
                    page, f"{self._source.describe()}, split {read.split_id!r}, page at {before!r}"
                )
            elif position == before and not page.is_last:
                if limit is None:
                    raise SourceError(
                        f"{self._source.describe()}: split {read.split_id!r} has nothing more at {position!r} and does "
                        "not end, but batch execution reads to the end. Say `is_last=True` in the last page"
                    )
                break
        self.position = position

    def _batches(self, page: Page, where: str) -> Iterator[Batch]:
        records, places = list(page.records), range(len(page.records))
        if type(self._source).to_record is not PollingSource.to_record:
            records, places = self._made(records, where)
        if page.timestamps is not None and len(page.timestamps) != len(page.records):
            given = f"{len(page.records)} records and {len(page.timestamps)} timestamps"
            raise SourceError(f"{where}: {given}; expected one for each record")
        times = None if page.timestamps is None else [page.timestamps[place] for place in places]
        if self._codec.schema is None:
            if records:
                yield Batch(self._codec, values=records, timestamps=times)
            return
        # By way of the columns: a dict or a tuple may be given for a row, and what misfits shows here.
        yield from readable_values(
            self._codec,
            records,
            self._broken,
            lambda place: f"{where}, record {places[place]}",
            timestamps=times,
        )

    def _made(self, items: Sequence[Any], where: str) -> tuple[list[Any], Sequence[int]]:
        """What `to_record` makes of the items, and their places."""
        records: list[Any] = []
        places: list[int] = []
        for place, item in enumerate(items):
            try:
                records.append(self._source.to_record(item))
                places.append(place)
            except Exception as problem:
                reason = f"to_record raised {type(problem).__name__}: {problem}"
                self._broken.add(as_bytes(item), f"{where}, record {place}", reason)
        return records, places

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._source.close()


def _asked(source: PollingSource, what: str, ask: Callable[[], T]) -> T:
    try:
        return ask()
    except Exception as problem:
        raise SourceError(f"{source.describe()}: {what} failed: {type(problem).__name__}: {problem}") from problem


def _as_json(source: PollingSource, position: Any) -> Json:
    """The position as it will be found after a restart: tuples are lists then, and so they are at once."""
    try:
        return json.loads(json.dumps(position))
    except (TypeError, ValueError) as problem:
        raise SourceError(
            f"{source.describe()}: the position {position!r} is no JSON ({problem}); use numbers, text, lists, dicts"
        ) from None
