"""A small engine for sources: polls, reads, and restarts from what a manifest would hold."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.connectors.source import EnumeratorContext, EpochBudget, Source


class SourceRun:
    """Runs a source epoch by epoch. `restart` forgets all but the state, which goes through JSON."""

    def __init__(self, source: Source, parallelism: int, bounded: bool) -> None:
        self._source = source
        self._parallelism = parallelism
        self._bounded = bounded
        self.state: dict[str, Any] = {}
        self.finished_splits: list[str] = []
        self.restart()

    def restart(self) -> None:
        self.state = json.loads(json.dumps(self.state))
        context = EnumeratorContext(self.state, self._parallelism, self._bounded)
        self.enumerator = self._source.create_enumerator(context)
        self.reader = pickle.loads(pickle.dumps(self._source)).create_reader()

    def epoch(self, *, records: int = 1 << 40, size: int = 1 << 40, now: int = 0) -> list[Any]:
        """The records of one epoch, in the order of its reads."""
        budget = EpochBudget(records, size, self._parallelism)
        reads = self.enumerator.poll(now, budget)
        assert len({read.split_id for read in reads}) == len(reads)
        result: list[Any] = []
        for read in reads:
            for batch in self.reader.read(read, budget):
                assert 0 < len(batch) <= 65_536
                result += batch.values
            assert self.reader.finished == read.finishes
            self.enumerator.advanced(read.split_id, self.reader.position, self.reader.finished)
            if read.finishes:
                self.finished_splits.append(read.split_id)
        return result

    def epochs(self, **limits: int) -> Iterator[list[Any]]:
        """All epochs up to the end of the source."""
        while not self.enumerator.is_exhausted():
            yield self.epoch(**limits)


@pytest.fixture(scope="session")
def run_source() -> Callable[..., SourceRun]:
    def start(source: Source, *, parallelism: int = 1, bounded: bool = False) -> SourceRun:
        return SourceRun(source, parallelism, bounded)

    return start
