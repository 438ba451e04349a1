"""`check_source` tells sources that go on where they were from those that do not, and says why."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ArgumentError
from penstock.connectors.collection import CollectionSource
from penstock.connectors.files import FileSource, TextLineFormat
from penstock.connectors.sequence import NumberSequenceSource
from penstock.connectors.sink import DeliveryGuarantee
from penstock.connectors.source import Boundedness, Source, SplitEnumerator, SplitRead, SplitReader
from penstock.testing import check_source

COUNT = 10


class Counting(Source):
    """The numbers from 0 to 9, in one split; subclasses have one mistake each."""

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> Any:
        return Types.LONG()

    def create_enumerator(self, context: Any) -> SplitEnumerator:
        return CountingEnumerator(context.state)

    def create_reader(self) -> SplitReader:
        return CountingReader()


class CountingEnumerator(SplitEnumerator):
    def __init__(self, state: Any) -> None:
        self.state = state

    def poll(self, now: int, budget: Any) -> list[SplitRead]:
        start = self.state.get("next", 0)
        end = min(COUNT, start + budget.max_records)
        if start == end:
            return []
        self.state["next"] = end
        return [SplitRead("0", start, end, finishes=end == COUNT)]

    def is_exhausted(self) -> bool:
        return self.state.get("next", 0) == COUNT


class CountingReader(SplitReader):
    def read(self, read: SplitRead, budget: Any) -> Iterator[Batch]:
        assert read.end is not None
        yield Batch(codec_for(Types.LONG()), values=self.numbers(read))
        self.position, self.finished = read.end, read.finishes

    def numbers(self, read: SplitRead) -> list[int]:
        return list(range(read.start, read.end))  # type: ignore[arg-type]


class Forgetful(Counting):
    """Keeps its place in memory."""

    def create_enumerator(self, context: Any) -> SplitEnumerator:
        return CountingEnumerator({})


class Unsteady(Counting):
    """Gives other records for the same read."""

    calls = itertools.count()

    def create_reader(self) -> SplitReader:
        class Reader(CountingReader):
            def numbers(self, read: SplitRead) -> list[int]:
                return [number * (1 + next(Unsteady.calls) % 2) for number in super().numbers(read)]

        return Reader()


class OutOfJson(Counting):
    def create_reader(self) -> SplitReader:
        class Reader(CountingReader):
            def read(self, read: SplitRead, budget: Any) -> Iterator[Batch]:
                yield from super().read(read, budget)
                self.position = {read.end}

        return Reader()


class Twice(Counting):
    """Orders one split in two parts in the same epoch."""

    def create_enumerator(self, context: Any) -> SplitEnumerator:
        class Enumerator(CountingEnumerator):
            def poll(self, now: int, budget: Any) -> list[SplitRead]:
                return super().poll(now, budget) + super().poll(now, budget)

        return Enumerator(context.state)


def test_a_source_that_keeps_its_promise() -> None:
    report = check_source(Counting(), range(COUNT))
    assert report.may_promise is DeliveryGuarantee.EXACTLY_ONCE
    assert str(report) == "the source may promise exactly-once: 7 trials, 0 of them without every record once"


def test_the_sources_of_the_library(tmp_path: Any) -> None:
    check_source(NumberSequenceSource(1, 20), range(1, 21))
    check_source(CollectionSource(["a", "b", "c"], Types.STRING()), records_per_epoch=1)
    (tmp_path / "one.txt").write_text("x\ny\n")
    (tmp_path / "two.txt").write_text("z\n")
    check_source(FileSource(str(tmp_path), TextLineFormat()), ["x", "y", "z"])
    check_source(lambda: FileSource(str(tmp_path), TextLineFormat(), watch=True, settle=0), ["x", "y", "z"])


@pytest.mark.parametrize(
    ("source", "evidence"),
    [
        (Forgetful(), r"a restart after every epoch: .*(too many|ContractError|not come to an end)"),
        (Unsteady(), r"read again by others: ContractError: split '0' read twice from 0 gave 3 records"),
    ],
)
def test_sources_that_do_not_go_on_where_they_were(source: Source, evidence: str) -> None:
    with pytest.raises(AssertionError, match=evidence):
        check_source(source, range(COUNT) if isinstance(source, Forgetful) else None)


def test_records_that_are_missing_are_named() -> None:
    with pytest.raises(AssertionError, match="no failure: 1 lost: 10"):
        check_source(Counting(), range(COUNT + 1))
    report = check_source(Counting(), range(COUNT - 1), promise=DeliveryGuarantee.AT_LEAST_ONCE)
    assert report.may_promise is DeliveryGuarantee.AT_LEAST_ONCE


@pytest.mark.parametrize(
    ("source", "message"), [(OutOfJson(), "which is no JSON"), (Twice(), "one split was ordered twice in one epoch")]
)
def test_what_no_job_could_run_is_raised_as_it_is(source: Source, message: str) -> None:
    with pytest.raises(Exception, match=message):
        check_source(source)


def test_the_argument_is_a_source() -> None:
    with pytest.raises(ArgumentError, match="expected a source, or a function that makes one, got 3"):
        check_source(3)  # type: ignore[arg-type]
