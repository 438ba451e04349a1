"""Which offsets an epoch reads, against brokers that are a few lines of Python."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.errors import SourceError
from penstock.connectors.kafka import KafkaOffsetsInitializer, KafkaTopicPartition
from penstock.connectors.kafka.enumerator import KafkaEnumerator, fair_shares
from penstock.connectors.kafka.properties import understood
from penstock.connectors.source import EnumeratorContext, EpochBudget

Initializer = KafkaOffsetsInitializer


class FakeBroker:
    def __init__(self, **ends: int) -> None:
        self.ends = {KafkaTopicPartition(topic, 0): end for topic, end in ends.items()}
        self.first = dict.fromkeys(self.ends, 0)
        self.commits: list[dict[str, int]] = []
        self.in_transactions = 0

    def partitions(self):
        return sorted(self.ends)

    def earliest(self, partitions):
        return {each: self.first.get(each, 0) for each in partitions}

    def latest(self, partitions):
        return {each: self.ends[each] for each in partitions}

    def written(self, partitions):
        return {each: self.ends[each] + self.in_transactions for each in partitions}

    def commit(self, offsets):
        self.commits.append({str(each): offset for each, offset in offsets.items()})

    def close(self):
        pass


class Run:
    def __init__(self, broker, *, starting=None, stopping=None, bounded=False, **properties: str) -> None:
        self.broker = broker
        self.options = (
            understood({"bootstrap.servers": "b", **{name.replace("_", "."): v for name, v in properties.items()}}),
            starting or Initializer.earliest(),
            stopping,
        )
        self.bounded = bounded
        self.state: dict[str, object] = {}
        self.restart()

    def restart(self) -> None:
        self.state = json.loads(json.dumps(self.state))
        context = EnumeratorContext(self.state, 2, self.bounded)
        self.enumerator = KafkaEnumerator(self.broker, self.broker.partitions, *self.options, context)

    def poll(self, records: int = 1000, now: int = 0, size: int = 1 << 40, record_bytes: int = 100):
        reads = self.enumerator.poll(now, EpochBudget(records, size, 2))
        for read in reads:
            count = read.end - read.start
            position = {"offset": read.end, "records": count, "bytes": count * record_bytes}
            self.enumerator.advanced(read.split_id, position, read.finishes)
        return {read.split_id: (read.start, read.end) for read in reads}


def test_an_epoch_reads_up_to_the_end_that_the_broker_names():
    run = Run(FakeBroker(a=5, b=0))
    assert run.poll() == {"a-0": (0, 5)}
    assert run.poll() == {}
    run.broker.ends[("a", 0)] = 7
    run.broker.ends[("b", 0)] = 1
    run.poll()
    assert run.poll() == {"a-0": (5, 7), "b-0": (0, 1)}


@pytest.mark.parametrize(("reset", "goes_on_at"), [("none", None), ("earliest", 1), ("latest", 3)])
def test_a_topic_that_has_begun_anew_is_told_or_read_from_where_the_program_says(reset, goes_on_at):
    run = Run(FakeBroker(a=5), auto_offset_reset=reset)
    run.poll()
    partition = KafkaTopicPartition("a", 0)
    run.broker.first[partition], run.broker.ends[partition] = 1, 3
    run.restart()
    if goes_on_at is None:
        with pytest.raises(SourceError, match=r"a, partition 0 at b ends at offset 3, before 5, .* made again"):
            run.poll()
    else:
        assert run.poll() == ({"a-0": (goes_on_at, 3)} if goes_on_at < 3 else {})
        assert run.enumerator.offsets == {partition: 3}


def test_what_open_transactions_hide_from_a_reader_that_was_further_is_waited_for():
    broker = FakeBroker(a=5, b=5)
    run = Run(broker)
    run.poll()
    broker.ends[("a", 0)], broker.in_transactions = 3, 4
    broker.ends[("b", 0)] = 7
    run.restart()
    assert run.poll() == {"b-0": (5, 7)}


@pytest.mark.parametrize("restarts", [False, True])
def test_a_partition_that_is_not_subscribed_to_any_more_ends_and_goes_on_where_it_was_when_it_comes_back(restarts):
    a, b = KafkaTopicPartition("a", 0), KafkaTopicPartition("b", 0)
    run = Run(FakeBroker(a=5, b=5), partition_discovery_interval_ms="1")

    def look(now: int, ends: dict[KafkaTopicPartition, int]) -> dict[str, tuple[int, int, bool]]:
        run.broker.ends = ends
        reads = run.enumerator.poll(now, EpochBudget(1000, 1 << 40, 2))
        return {read.split_id: (read.start, read.end, read.finishes) for read in reads}

    run.poll()
    assert look(1, {a: 6}) == {"a-0": (5, 6, False)}
    assert set(run.enumerator.live_splits()) == {"a-0", "b-0"}, "a broker may not know all of them for a moment"
    assert look(10_001, {a: 7}) == {"a-0": (6, 7, False), "b-0": (5, 5, True)}
    if restarts:
        run.restart()
    assert look(20_002, {a: 8}) == {"a-0": (7, 8, False)}, "it has ended once"
    assert run.enumerator.live_splits() == ["a-0"]
    if restarts:
        run.restart()
    assert look(20_003, {a: 8, b: 8}) == {"b-0": (5, 8, False)}


def arrive_behind_a_lull(*arrivals: tuple[int, int]) -> list[dict[str, tuple[int, int]]]:
    """What each poll orders after one that found nothing: by the time of the poll and the end of the partition."""
    run = Run(FakeBroker(a=0))
    assert run.poll() == {}
    orders = []
    for now, end in arrivals:
        run.broker.ends[("a", 0)] = end
        orders.append(run.poll(now=now))
    return orders


def test_the_first_records_behind_a_lull_wait_until_no_more_come():
    assert arrive_behind_a_lull((0, 1), (10, 90), (20, 100), (30, 100)) == [{}, {}, {}, {"a-0": (0, 100)}]
    assert arrive_behind_a_lull((0, 1), (10, 1)) == [{}, {"a-0": (0, 1)}]


def test_records_that_never_stop_coming_are_not_waited_for_long():
    orders = arrive_behind_a_lull(*((now, now + 1) for now in range(0, 60, 10)))
    assert orders == [{}, {}, {}, {"a-0": (0, 31)}, {"a-0": (31, 41)}, {"a-0": (41, 51)}]


def test_as_many_records_as_an_epoch_may_read_are_not_waited_for():
    assert arrive_behind_a_lull((0, 5000)) == [{"a-0": (0, 1000)}]


def test_records_that_wait_for_more_are_counted_as_waiting():
    run = Run(FakeBroker(a=0))
    run.poll()
    run.broker.ends[("a", 0)] = 7
    run.poll()
    assert run.enumerator.lag() == 7
    run.poll()
    assert run.enumerator.lag() == 0


def test_event_time_waits_for_partitions_that_have_not_ended_also_for_empty_ones():
    run = Run(FakeBroker(a=5, b=0), stopping=Initializer.latest())
    run.poll(records=3)
    assert run.enumerator.live_splits() == ["a-0"]
    endless = Run(FakeBroker(a=5, b=0))
    endless.poll()
    assert endless.enumerator.live_splits() == ["a-0", "b-0"]


def test_a_partition_that_is_held_back_is_not_read_until_it_is_let_go():
    run = Run(FakeBroker(a=5, b=4))
    run.enumerator.hold_back({"a-0"})
    assert run.poll() == {"b-0": (0, 4)}
    run.enumerator.hold_back(())
    assert run.poll() == {"a-0": (0, 5)}


def test_a_restart_goes_on_where_the_last_epoch_ended():
    run = Run(FakeBroker(a=5))
    run.poll(records=3)
    run.restart()
    assert run.poll() == {"a-0": (3, 5)}


def test_the_budget_is_shared_and_what_one_does_not_need_the_others_get():
    run = Run(FakeBroker(a=1000, b=1000, c=10))
    assert run.poll(records=110) == {"a-0": (0, 50), "b-0": (0, 50), "c-0": (0, 10)}


def test_the_budget_of_bytes_follows_the_size_of_the_records_that_came():
    run = Run(FakeBroker(a=1_000_000))
    assert run.poll(records=1 << 40, size=100_000, record_bytes=100) == {"a-0": (0, 100)}
    assert run.poll(records=1 << 40, size=100_000, record_bytes=100) == {"a-0": (100, 1100)}


def test_a_topic_whose_records_are_of_unknown_size_begins_with_a_small_epoch():
    run = Run(FakeBroker(a=1_000_000))
    limits = {"records": 1_000_000, "size": 256 << 20, "record_bytes": 100_000}
    assert run.poll(**limits) == {"a-0": (0, 2000)}
    assert run.poll(**limits) == {"a-0": (2000, 4684)}, "256 MB of 100 KB each"
    run.restart()
    assert run.poll(**limits) == {"a-0": (4684, 7368)}


def test_batch_execution_reads_all_records_at_once_though_their_size_is_unknown():
    run = Run(FakeBroker(a=5000), bounded=True)
    assert run.poll(records=1 << 60, size=1 << 60) == {"a-0": (0, 5000)}


@settings(deadline=None)
@given(st.dictionaries(st.text("abc", min_size=1), st.integers(-5, 100)), st.integers(1, 200))
def test_shares_are_fair(available, budget):
    shares = fair_shares(available, budget)
    wanted = {split: count for split, count in available.items() if count > 0}
    assert all(0 < share <= wanted[split] for split, share in shares.items())
    assert sum(shares.values()) == min(budget, sum(wanted.values()))
    got_less = [shares.get(split, 0) for split in wanted if shares.get(split, 0) < wanted[split]]
    assert not got_less or max(shares.values()) - min(got_less) <= 1 or len(wanted) > budget


def test_a_bounded_source_ends_at_its_stopping_offsets():
    run = Run(FakeBroker(a=5, b=3, empty=0), stopping=Initializer.latest())
    assert not run.enumerator.is_exhausted()
    assert run.poll(records=4) == {"a-0": (0, 2), "b-0": (0, 2)}
    run.broker.ends[("a", 0)] = 100
    run.restart()
    assert run.poll() == {"a-0": (2, 5), "b-0": (2, 3)}
    assert run.enumerator.is_exhausted()
    assert run.poll() == {}


def test_only_the_read_that_reaches_the_stop_finishes_its_split():
    run = Run(FakeBroker(a=5), stopping=Initializer.latest())
    budget = EpochBudget(3, 1 << 40, 1)
    assert [read.finishes for read in run.enumerator.poll(0, budget)] == [False]
    assert [read.finishes for read in run.enumerator.poll(0, budget)] == [True]


def test_a_bounded_source_of_empty_topics_has_ended():
    run = Run(FakeBroker(a=0), stopping=Initializer.latest())
    assert run.poll() == {}
    assert run.enumerator.is_exhausted()


def test_batch_execution_of_an_unbounded_source_reads_what_is_there():
    run = Run(FakeBroker(a=5), bounded=True)
    assert run.poll() == {"a-0": (0, 5)}
    assert run.enumerator.is_exhausted()


def test_new_partitions_are_found_in_time_and_read_from_their_beginning():
    run = Run(FakeBroker(a=5), starting=Initializer.latest(), partition_discovery_interval_ms="1000")
    assert run.poll(now=0) == {}
    run.broker.ends[KafkaTopicPartition("new", 0)] = 3
    run.broker.first[KafkaTopicPartition("new", 0)] = 1
    assert run.poll(now=999) == {}
    assert run.poll(now=1000) == {}, "the first records behind a lull"
    assert run.poll(now=1010) == {"new-0": (1, 3)}


def test_discovery_can_be_switched_off():
    run = Run(FakeBroker(a=5), partition_discovery_interval_ms="-1")
    run.poll()
    run.broker.ends[KafkaTopicPartition("new", 0)] = 3
    assert run.poll(now=1 << 50) == {}


@pytest.mark.parametrize("wanted", ["true", "false"])
def test_offsets_are_committed_for_the_group_after_their_epoch(wanted):
    run = Run(FakeBroker(a=5), group_id="g", commit_offsets_on_checkpoint=wanted)
    run.poll(records=3)
    assert run.broker.commits == []
    run.poll()
    run.poll()
    run.poll()
    assert run.broker.commits == ([{"a-0": 3}, {"a-0": 5}] if wanted == "true" else [])


def test_topics_may_have_dashes():
    broker = FakeBroker()
    broker.ends[KafkaTopicPartition("my-topic-1", 0)] = 2
    run = Run(broker)
    run.poll(records=1)
    run.restart()
    (read,) = run.enumerator.poll(0, EpochBudget(10, 1 << 40, 1))
    assert (read.split_id, read.start, read.descriptor) == ("my-topic-1-0", 1, {"topic": "my-topic-1", "partition": 0})
