"""Sources in plain Python: splits, pages and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import ConfigurationError, JobExecutionException, SourceError
from penstock.connectors.broken_records import BROKEN_RECORD_TYPE
from penstock.connectors.polling_source import Page, PollingSource
from penstock.connectors.source import Boundedness, EnumeratorContext, EpochBudget
from penstock.functions import OutputTag
from penstock.testing import check_source, local_environment

BUDGET = EpochBudget(max_records=4, max_bytes=1 << 30, parallelism=2)


class Logs(PollingSource):
    """Lists of numbers, two on a page."""

    def __init__(self, logs: Mapping[str, Sequence[int]], *, ends: bool = True) -> None:
        self.logs = logs
        self.ends = ends

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.ends else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def produced_type(self) -> Any:
        return Types.LONG()

    def splits(self) -> list[str]:
        return sorted(self.logs)

    def first_position(self, split: str) -> int:
        return 0

    def read_page(self, split: str, position: int) -> Page:
        log = self.logs[split]
        records = log[position : position + 2]
        end = position + len(records)
        return Page(records, end, timestamps=records, is_last=self.ends and end == len(log))


TWO_LOGS = {"a": range(7), "b": range(100, 103), "empty": ()}
ALL = [*range(7), *range(100, 103)]


def enumerator_of(source: PollingSource, state: dict[str, Any] | None = None, *, bounded: bool = False) -> Any:
    return source.create_enumerator(EnumeratorContext({} if state is None else state, 2, bounded))


def read_all(source: PollingSource, enumerator: Any, now: int = 0) -> list[int]:
    """The records of one epoch."""
    reader = source.create_reader()
    records: list[int] = []
    for read in enumerator.poll(now, BUDGET):
        records += [value for batch in reader.read(read, BUDGET) for value in batch.values]
        enumerator.advanced(read.split_id, reader.position, reader.finished)
    return records


@pytest.mark.parametrize("ends", [True, False])
def test_every_record_is_read_once_whatever_is_lost(ends: bool) -> None:
    check_source(Logs(TWO_LOGS, ends=ends), ALL)


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_job_reads_all_splits(mode: str) -> None:
    env = local_environment(parallelism=2)
    env._configuration.set_string("execution.runtime-mode", mode)
    stream = env.from_source(Logs(TWO_LOGS)).map(lambda number: number + 1, Types.LONG())
    assert sorted(stream.execute_and_collect()) == [number + 1 for number in ALL]


def test_new_splits_are_found_and_those_without_news_rest() -> None:
    source = Logs({"a": [1]}, ends=False)
    enumerator = enumerator_of(source)
    assert read_all(source, enumerator, now=0) == [1]
    # Read on at once: there might be more. Then it rests.
    assert read_all(source, enumerator, now=0) == []
    assert enumerator.poll(999, BUDGET) == []
    assert enumerator.next_poll(999) == 1000
    source.logs = {"a": [1, 2], "b": [3]}
    assert read_all(source, enumerator, now=1000) == [2]
    assert read_all(source, enumerator, now=60_000) == [3]
    assert set(enumerator.live_splits()) == {"a", "b"}


def test_no_epoch_is_run_for_splits_that_have_no_more() -> None:
    class Knowing(Logs):
        def has_more(self, split: str, position: int) -> bool:
            return position < len(self.logs[split])

    source = Knowing({"a": [1]}, ends=False)
    enumerator = enumerator_of(source)
    assert read_all(source, enumerator) == [1]
    assert enumerator.poll(0, BUDGET) == []


def test_a_split_that_is_being_read_is_not_handed_out_again() -> None:
    enumerator = enumerator_of(Logs({"a": [1]}))
    assert len(enumerator.poll(0, BUDGET)) == 1
    assert enumerator.poll(0, BUDGET) == []
    assert not enumerator.is_exhausted()


def test_splits_that_are_ahead_of_others_are_held_back() -> None:
    enumerator = enumerator_of(Logs({"a": [1], "b": [2]}))
    enumerator.hold_back({"a"})
    assert [read.split_id for read in enumerator.poll(0, BUDGET)] == ["b"]


def test_connections_are_made_in_tasks_and_closed() -> None:
    calls: list[str] = []

    class Connected(Logs):
        def open(self) -> None:
            calls.append("open")

        def close(self) -> None:
            calls.append("close")

    source = Connected(TWO_LOGS)
    reader = source.create_reader()
    reader.close()
    assert calls == []
    for read in enumerator_of(source).poll(0, BUDGET):
        list(reader.read(read, BUDGET))
    reader.close()
    assert calls == ["open", "close"]


def page(value: Any) -> Any:
    class Wrong(Logs):
        def read_page(self, split: str, position: int) -> Any:
            return value

    return Wrong({"a": [1]})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (page([1, 2]), r"read_page returned \[1, 2\]; expected a Page"),
        (page(Page([1], 0)), r"has 1 records and ends where it began, at 0"),
        (page(Page([1, 2], 2, [5])), r"split 'a', page at 0: 2 records and 1 timestamps; expected one for each record"),
        (page(Page([1], {1, 2})), r"the position \{1, 2\} is no JSON"),
    ],
)
def test_pages_that_cannot_be_right_are_refused(source: PollingSource, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read_all(source, enumerator_of(source))


def test_batch_execution_needs_an_end() -> None:
    source = Logs({"a": [1]})
    source.read_page = lambda split, position: Page([], position)  # type: ignore[method-assign]
    enumerator = enumerator_of(source, bounded=True)
    with pytest.raises(SourceError, match="has nothing more at 0 and does not end"):
        read_all(source, enumerator)


def test_what_fails_in_the_driver_names_the_source_and_the_function() -> None:
    class Unreachable(Logs):
        def splits(self) -> list[str]:
            raise ConnectionError("nobody there")

    with pytest.raises(JobExecutionException, match=r"Unreachable: splits\(\) failed: ConnectionError: nobody there"):
        list(local_environment().from_source(Unreachable({})).execute_and_collect())
    with pytest.raises(SourceError, match=r"splits\(\) names 7; the name of a split is a str"):
        enumerator_of(Logs({7: [1]})).poll(0, BUDGET)  # type: ignore[dict-item]


class Numbers(PollingSource):
    """Items are texts; one is no number, one is a number too large for the type."""

    def __init__(self, on_error: Any) -> None:
        self.on_error = on_error

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> Any:
        return Types.LONG()

    def splits(self) -> list[str]:
        return ["a"]

    def read_page(self, split: str, position: Any) -> Page:
        return Page(["1", "two", str(1 << 70), "4"], 4, timestamps=[10, 20, 30, 40], is_last=True)

    def to_record(self, item: str) -> int:
        return int(item)


def test_a_broken_record_fails_the_job_and_is_shown_with_its_place_and_the_reason() -> None:
    with pytest.raises(JobExecutionException) as raised:
        list(local_environment().from_source(Numbers("fail")).execute_and_collect())
    shown = str(raised.value)
    assert "split 'a', page at None, record 1" in shown
    assert "to_record raised ValueError: invalid literal for int()" in shown
    assert "record: two" in shown


def test_broken_records_are_skipped_and_counted() -> None:
    source = Numbers("skip")
    reader = source.create_reader()
    (read,) = enumerator_of(source).poll(0, BUDGET)
    batches = list(reader.read(read, BUDGET))
    assert [value for batch in batches for value in batch.values] == [1, 4]
    assert [time for batch in batches for time in batch.timestamps or ()] == [10, 40]
    assert reader.broken_records is not None
    assert reader.broken_records.take() == (2, None)


def test_broken_records_go_to_a_side_output() -> None:
    tag = OutputTag("broken", BROKEN_RECORD_TYPE)
    env = local_environment()
    numbers = env.from_source(Numbers(tag))
    with numbers.get_side_output(tag).execute_and_collect() as records:
        unreadable, too_large = sorted(records, key=lambda record: record.position)
    assert (unreadable.value, too_large.value) == (b"two", str(1 << 70).encode())
    assert too_large.position.endswith("split 'a', page at None, record 2")
    assert "does not fit" in too_large.reason


def test_what_a_source_cannot_do_with_broken_records_is_refused_where_it_is_added() -> None:
    with pytest.raises(ConfigurationError, match='expected "fail", "skip" or an OutputTag'):
        local_environment().from_source(Numbers("ignore"))
