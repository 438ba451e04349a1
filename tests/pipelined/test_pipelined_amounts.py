"""An epoch takes in no more than functions can work through: else it could not end, however short it is to be."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from penstock.common import Types
from penstock.common.batch import Batch
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.collection import CollectionSource
from penstock.connectors.live_source import LiveReader
from penstock.connectors.source import SplitRead
from penstock.datastream import OutputTag
from penstock.engine.pipelined.live_amounts import EpochAmount, PollAmount
from penstock.engine.pipelined.live_header import live_header
from penstock.engine.stages.messages import Done, ReadProgress
from penstock.engine.stages.task_report import TaskReport
from penstock.testing.memory_sink import MemorySink
from pipelined import list_source, local_pipelined
from pipelined.list_source import PAIRS, ListSource, pairs, timed, two_splits
from pipelined.local_pipelined import environment
from pipelined.running_count import Running


def reports(taken: int, busy_seconds: float) -> list[TaskReport]:
    read = ReadProgress(1, 0, "t-0", None, finished=False, records=taken, time=None)
    return [
        TaskReport(1, 0, busy_seconds * 1000, 0, {}, Done(1, 0), on_rows_ms=busy_seconds * 1000),
        TaskReport(0, 0, 1.0, 0, {}, Done(0, 0, reads=(read,))),
    ]


def test_where_functions_keep_up_an_epoch_may_take_in_twice_as_much() -> None:
    amount = EpochAmount()
    first = amount.records
    amount.worked(reports(taken=first, busy_seconds=0.5), seconds=1.0)
    assert amount.records == 2 * first
    amount.worked(reports(taken=10, busy_seconds=0.1), seconds=1.0)
    assert amount.records == 2 * first, "there was not more"


def test_where_they_do_not_it_may_take_in_what_they_can_do_in_its_time() -> None:
    amount = EpochAmount()
    amount.worked(reports(taken=800, busy_seconds=40), seconds=1.0)
    assert amount.records == 20
    amount.worked(reports(taken=20, busy_seconds=1.5), seconds=1.0)
    assert amount.records == 20
    amount.worked(reports(taken=20, busy_seconds=1000), seconds=1.0)
    assert amount.records > 0


@pytest.mark.parametrize(("seconds", "timeout_seconds"), [(3600.0, 4200.0), (10.0, 12.0), (1.0, 601.0)])
@pytest.mark.parametrize("work", [0.002, 0.3, 0.9])
def test_no_epoch_takes_in_what_it_is_given_up_for(seconds: float, timeout_seconds: float, work: float) -> None:
    amount = EpochAmount(timeout_seconds)
    for _ in range(30):
        taken = amount.records
        amount.worked(reports(taken, work * taken), seconds)
        # The first thousand records are to find out how long one takes.
        assert work * amount.records <= max(seconds, 1_000 * work)
    assert work * amount.records > seconds / 2


def test_it_takes_in_less_when_records_take_longer_before_it_is_given_up() -> None:
    amount = EpochAmount(timeout_seconds=4200.0)
    amount.worked(reports(taken=5_000, busy_seconds=3500), seconds=3600.0)
    amount.worked(reports(taken=5_000, busy_seconds=4000), seconds=3600.0)
    assert amount.records == 4_500


def test_a_disk_that_is_slow_at_the_end_of_an_epoch_is_no_reason_to_take_in_less() -> None:
    amount = EpochAmount()
    slowly_staged = TaskReport(1, 0, busy_ms=30_000, bytes_out=0, metrics={}, done=Done(1, 0), on_rows_ms=10)
    first = amount.records
    amount.worked([*reports(taken=first, busy_seconds=0.0), slowly_staged], seconds=1.0)
    assert amount.records == 2 * first


def test_after_epochs_that_were_lost_it_may_take_in_less_and_less() -> None:
    amount = EpochAmount()
    amount.worked(reports(taken=1_000_000, busy_seconds=0.5), seconds=1.0)
    amount.lost()
    after_one = amount.records
    amount.lost()
    assert 0 < amount.records < after_one <= 1000


def test_a_task_takes_at_once_what_it_is_soon_done_with() -> None:
    amount = PollAmount()
    first = amount.records
    amount.worked(first, seconds=0.01)
    assert amount.records == 2 * first
    amount.worked(2 * first, seconds=20.0)
    assert amount.records == first // 100


def polls(seconds_of: Callable[[int], float], number: int, amount: PollAmount) -> list[int]:
    """How many records a task has taken at once, so many times, where working on them takes so long."""
    taken: list[int] = []
    for _ in range(number):
        taken.append(amount.records)
        amount.worked(amount.records, seconds_of(amount.records))
    return taken


def test_it_takes_one_by_one_what_takes_long() -> None:
    assert polls(lambda records: 20.0 * records, 5, PollAmount())[1:] == [1, 1, 1, 1]


@pytest.mark.parametrize("seconds", [0.2, 0.4, 0.6, 3.0])
def test_what_takes_as_long_for_fewer_records_is_no_reason_to_take_fewer(seconds: float) -> None:
    amount = PollAmount()
    polls(lambda records: seconds + 0.01 * records, 20, amount)
    assert amount.records >= 15
    polls(lambda records: seconds, 20, amount)
    assert amount.records >= 256


def test_a_service_that_was_slow_for_a_while_is_asked_for_as_much_as_before() -> None:
    amount = PollAmount()
    before = polls(lambda records: 0.2, 8, amount)[-1]
    polls(lambda records: 5.0 + 0.01 * records, 8, amount)
    assert polls(lambda records: 0.2, 12, amount)[-1] == before


def test_a_collection_gives_no_more_at_once_than_it_is_to() -> None:
    reader = CollectionSource(list(range(10)), Types.LONG()).create_live_reader()
    reader.follow([SplitRead("0", 2, 9, finishes=True)])
    given: list[list[int]] = []
    positions: list[object] = []
    for reader.most_records in (3, 1, 5):
        ((_, batch),) = reader.poll(0.0)
        given.append(list(batch.values))
        positions.append(reader.position(0))
    assert given == [[2, 3, 4], [5], [6, 7, 8]]
    assert positions == [5, 6, 9]
    assert reader.finished(0)


@pytest.mark.usefixtures("virtual_time")
def test_an_epoch_ends_for_all_tasks_when_one_has_taken_in_what_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_pipelined, "live_header", partial(live_header, most_records=3))
    sink = MemorySink()
    env = environment("pipelined", execution__pipelined__epoch="1 h")
    counts = env.from_source(two_splits(per_epoch=100), None, "pairs").key_by(lambda pair: pair[0]).process(Running())
    counts.sink_to(sink)
    env.execute("counts")
    assert Counter(sink.records) == Counter((f"key-{key}", count) for key in range(3) for count in range(1, 9))
    # One task takes four records and ends the epoch; the other, which is told so at once, still takes two.
    assert [len(sink.epochs[number]) for number in sorted(sink.epochs)][:3] == [6, 6, 6]


BROKEN = OutputTag("broken")


class Unreadable(ListSource):
    """Nothing of it can be read."""

    @property
    def broken_records_tag(self) -> OutputTag:
        return BROKEN

    def create_live_reader(self) -> LiveReader:
        return _Unreadable(self)


class _Unreadable(list_source._LiveReader):
    def __init__(self, source: ListSource) -> None:
        super().__init__(source)
        self.broken_records = BrokenRecords(BROKEN)

    def poll(self, seconds: float) -> list[tuple[int, Batch]]:
        for _, batch in super().poll(seconds):
            for value in batch.values:
                self.broken_records.add(repr(value).encode(), "here", "it is broken")
        return []


@pytest.mark.usefixtures("virtual_time")
def test_records_that_cannot_be_read_are_taken_in_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_pipelined, "live_header", partial(live_header, most_records=3))
    sink = MemorySink()
    env = environment("pipelined", execution__pipelined__epoch="1 h")
    source = Unreadable(timed(pairs(3, 12)), record_type=PAIRS, per_epoch=100)
    env.from_source(source, None, "pairs").get_side_output(BROKEN).key_by(lambda broken: broken.value).sink_to(sink)
    env.execute("broken")
    assert [len(sink.epochs[number]) for number in sorted(sink.epochs)][:3] == [4, 4, 4]


BACKLOG = """
import threading
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

configuration = Configuration()
for key, value in {
    "execution.latency": "pipelined",
    "execution.checkpointing.interval": "1 s",
    "execution.checkpointing.timeout": "8 s",
    "restart-strategy.type": "none",
}.items():
    configuration.set_string(key, value)
env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
slow = env.from_collection(list(range(7000))).key_by(lambda n: n % 7).map(lambda n: threading.Event().wait(0.002) or n)
with slow.execute_and_collect() as results:
    print(sum(results))
"""


@pytest.mark.spark
def test_a_slow_function_works_through_more_than_it_can_do_before_the_time_out() -> None:
    done = subprocess.run([sys.executable, "-c", BACKLOG], check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) == sum(range(7000))
    assert "run again" not in done.stderr
