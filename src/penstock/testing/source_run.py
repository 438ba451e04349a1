"""A small engine for sources: epochs that are planned, read, committed, or lost."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.common.batch import Batch
from penstock.common.by_value import pickled_by_value
from penstock.connectors.source import EnumeratorContext, EpochBudget, Json, Source, SplitEnumerator, SplitRead

_MAX_EPOCHS = 10_000
_QUIET_EPOCHS = 3
_UNLIMITED = 1 << 40
_LONGEST_WAIT_MS = 60_000


class ContractError(Exception):
    """A source did what the contract of sources forbids."""


@dataclass(frozen=True)
class ReadRecords:
    """What one read gave."""

    read: SplitRead
    records: list[str]
    position: Json
    finished: bool


@dataclass
class SourceRun:
    """Reads a source to its end, or until nothing comes any more, in small epochs, with faults between them."""

    source: Source
    records_per_epoch: int
    batch: bool = False
    restarts: bool = False
    """A new enumerator and new readers, from what was committed, after every epoch."""
    loses_epochs: bool = False
    """Every epoch is read and lost, and read again by new readers, in another order."""
    breaks_reads: bool = False
    """Every epoch is lost in the middle of its reads."""
    parallelisms: tuple[int, ...] = (2,)
    """Those of one restart after the other."""
    by_split: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """All records that were committed."""
    _committed: str = "{}"
    _finished: set[str] = field(default_factory=set[str])
    _starts: int = 0
    _now: int = 0

    @property
    def records(self) -> list[str]:
        """All records that were committed."""
        return [record for records in self.by_split.values() for record in records]

    def run(self) -> SourceRun:
        """Reads everything."""
        quiet = 0
        enumerator, state = self._start()
        try:
            for _ in range(_MAX_EPOCHS):
                if enumerator.is_exhausted() and not self.batch:
                    return self
                reads = self._planned(enumerator)
                if reads and (self.loses_epochs or self.breaks_reads):
                    self._read_in_vain(reads)
                    enumerator.close()
                    enumerator, state = self._start()
                    reads = self._planned(enumerator)
                done = self._read(reads)
                self._commit(done, enumerator, state)
                if self.batch:
                    return self
                quiet = 0 if any(each.records for each in done) else quiet + 1
                if quiet >= _QUIET_EPOCHS and not enumerator.is_exhausted():
                    return self
                self._now = min(max(self._now + 1, enumerator.next_poll(self._now)), self._now + _LONGEST_WAIT_MS)
                if self.restarts:
                    enumerator.close()
                    enumerator, state = self._start()
            raise ContractError(f"the source has not come to an end after {_MAX_EPOCHS} epochs")
        finally:
            enumerator.close()

    def _start(self) -> tuple[SplitEnumerator, dict[str, Json]]:
        state: dict[str, Json] = json.loads(self._committed)
        parallelism = self.parallelisms[self._starts % len(self.parallelisms)]
        self._starts += 1
        return self.source.create_enumerator(EnumeratorContext(state, parallelism, self.batch)), state

    def _planned(self, enumerator: SplitEnumerator) -> list[SplitRead]:
        if not self.batch:
            reads = enumerator.poll(self._now, self._budget())
        else:
            reads = []
            while more := enumerator.poll(self._now, self._budget()):
                reads += more
            if not enumerator.is_exhausted():
                raise ContractError("batch execution reads everything at once, and then the source had not ended")
        splits = [read.split_id for read in reads]
        if len(set(splits)) < len(splits):
            raise ContractError(f"one split was ordered twice in one epoch: {', '.join(sorted(splits))}")
        again = self._finished.intersection(splits)
        if again:
            raise ContractError(f"split {min(again)!r} had finished, and is ordered again")
        return [_through_json(read) for read in reads]

    def _budget(self) -> EpochBudget:
        limit = _UNLIMITED if self.batch else self.records_per_epoch
        return EpochBudget(limit, _UNLIMITED, self.parallelisms[0])

    def _read(self, reads: list[SplitRead]) -> list[ReadRecords]:
        """All reads of an epoch, by one reader: it goes from split to split, and from epoch to epoch it is new."""
        reader = self._copy().create_reader()
        done: list[ReadRecords] = []
        try:
            for read in reads:
                batches = list(reader.read(read, self._budget()))
                if read.finishes and not reader.finished:
                    raise ContractError(
                        f"the read of {read.split_id!r} was to finish it, and the reader says it has not"
                    )
                position = _json(reader.position, f"the position in {read.split_id!r}")
                done.append(ReadRecords(read, _records_of(batches), position, reader.finished))
        finally:
            reader.close()
        return done

    def _read_in_vain(self, reads: list[SplitRead]) -> None:
        if self.breaks_reads:
            for read in reversed(reads):
                reader = self._copy().create_reader()
                batches: Iterator[Batch] = iter(reader.read(read, self._budget()))
                next(batches, None)
                reader.close()
            return
        first, again = self._read(list(reversed(reads))), self._read(reads)
        _require_same(dict(_by_split(first)), dict(_by_split(again)))

    def _commit(self, done: list[ReadRecords], enumerator: SplitEnumerator, state: dict[str, Json]) -> None:
        for each in done:
            enumerator.advanced(each.read.split_id, each.position, each.finished)
            self.by_split.setdefault(each.read.split_id, []).extend(each.records)
            if each.finished:
                self._finished.add(each.read.split_id)
        self._committed = json.dumps(_json(state, "what the enumerator remembers"))

    def _copy(self) -> Source:
        return pickle.loads(pickled_by_value(self.source))


def _by_split(done: list[ReadRecords]) -> Iterator[tuple[str, ReadRecords]]:
    return ((each.read.split_id, each) for each in done)


def _require_same(first: dict[str, ReadRecords], again: dict[str, ReadRecords]) -> None:
    """The same read gives the same records; where the reader chooses its end, one is the beginning of the other."""
    for split, one in first.items():
        other = again[split]
        shorter = min(len(one.records), len(other.records))
        same_end = one.position == other.position
        if one.records[:shorter] != other.records[:shorter] or (same_end and one.records != other.records):
            raise ContractError(
                f"split {split!r} read twice from {one.read.start!r} gave {_shown(one.records)}, "
                f"then {_shown(other.records)}"
            )


def _shown(records: list[str]) -> str:
    return f"{len(records)} records ({', '.join(records[:3])}{', ...' if len(records) > 3 else ''})"


def _records_of(batches: list[Batch]) -> list[str]:
    return [repr(value) for batch in batches for value in batch.values]


def _through_json(read: SplitRead) -> SplitRead:
    """The read as a task gets it."""
    descriptor = _json(dict(read.descriptor), f"the description of {read.split_id!r}")
    return SplitRead(
        read.split_id,
        _json(read.start, f"the start in {read.split_id!r}"),
        _json(read.end, f"the end in {read.split_id!r}"),
        descriptor,
        read.finishes,
        read.size,
    )


def _json(value: Any, what: str) -> Json:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as problem:
        raise ContractError(f"{what} is {value!r}, which is no JSON: {problem}") from None
