from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.common.errors import ConfigurationError, StateError, TypeMismatchError
from penstock.common.time import Duration, Time
from penstock.common.typeinfo import Types
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.state.key_encoding import encode_key
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory import MemoryStore
from penstock.state.ttl_config import StateTtlConfig

TTL = 100


class Sums:
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator * 10

    def merge(self, a: int, b: int) -> int:
        return a + b


def kinds() -> list[StateDescriptor]:
    return [
        ValueStateDescriptor("value", Types.LONG()),
        ListStateDescriptor("list", Types.LONG()),
        MapStateDescriptor("map", Types.STRING(), Types.LONG()),
        ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG()),
        AggregatingStateDescriptor("aggregate", Sums(), Types.LONG()),
    ]


class Job:
    """State that survives restarts, and a clock to set."""

    def __init__(self, builder: Any = None) -> None:
        self.config = (builder or StateTtlConfig.new_builder(TTL)).build()
        self.store = MemoryStore()
        self.now = 1_000
        self.epochs = 0
        self.open()

    def open(self) -> None:
        self.backend = KeyedStateBackend(self.store, "operator", 128, clock=lambda: self.now)
        self.key = "k"

    @property
    def key(self) -> str:
        return self._key

    @key.setter
    def key(self, key: str) -> None:
        self._key = key
        self.backend.current_key = encode_key(key)

    def state(self, descriptor: StateDescriptor) -> Any:
        if self.config is not None:
            descriptor.enable_time_to_live(self.config)
        return self.backend.get_partitioned_state(descriptor)

    def end_epoch(self, *, restart: bool = False) -> None:
        self.backend.flush()
        self.store.apply(self.store.changes(), str(self.epochs))
        self.store.discard_changes()
        self.epochs += 1
        if restart:
            self.open()

    def stored_keys(self, name: str) -> list[str]:
        handle = self.backend._handles[name]
        return sorted(key.decode()[-1] for key in handle.keys_in_store.stored_keys(self.store))


def shown() -> Any:
    return StateTtlConfig.new_builder(TTL).return_expired_if_not_cleaned_up()


# The configuration


def test_the_defaults_are_pyflinks() -> None:
    config = StateTtlConfig.new_builder(Time.seconds(1)).build()
    assert config.get_ttl() == Time.seconds(1)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert config.is_enabled()
    strategies = config.get_cleanup_strategies()
    assert strategies.is_cleanup_in_background()
    assert not strategies.in_full_snapshot()
    incremental = strategies.get_incremental_cleanup_strategy()
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (5, False)
    assert strategies.get_rocksdb_compact_filter_cleanup_strategy().get_query_time_after_num_entries() == 1000


def test_every_choice_is_kept() -> None:
    builder = (
        StateTtlConfig.new_builder(Time.seconds(1))
        .set_ttl(Time.seconds(2))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(7, True)
        .cleanup_in_rocksdb_compact_filter(3, Duration.of_days(1))
        .disable_cleanup_in_background()
    )
    config = pickle.loads(pickle.dumps(builder.build()))
    assert config.get_ttl() == Time.seconds(2)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    strategies = config.get_cleanup_strategies()
    assert strategies.in_full_snapshot()
    assert strategies.get_incremental_cleanup_strategy().get_cleanup_size() == 7
    assert strategies.get_incremental_cleanup_strategy().run_cleanup_for_every_record()
    compaction = strategies.get_rocksdb_compact_filter_cleanup_strategy()
    assert compaction.get_query_time_after_num_entries() == 3
    assert compaction.get_periodic_compaction_time() == Duration.of_days(1)
    assert repr(config) == "StateTtlConfig(2000 ms, OnReadAndWrite, ReturnExpiredIfNotCleanedUp)"


def test_without_background_clean_up_there_is_none() -> None:
    strategies = StateTtlConfig.new_builder(1).disable_cleanup_in_background().build().get_cleanup_strategies()
    assert strategies.get_incremental_cleanup_strategy() is None
    assert strategies.get_rocksdb_compact_filter_cleanup_strategy() is None


@pytest.mark.parametrize(("ttl", "error"), [(0, StateError), (-1, ConfigurationError), ("soon", ConfigurationError)])
def test_a_time_to_live_is_positive(ttl: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        StateTtlConfig.new_builder(ttl)


@pytest.mark.parametrize("size", [0, -1, True, "5"])
def test_a_clean_up_size_is_a_positive_number(size: Any) -> None:
    with pytest.raises(StateError, match="a positive number of entries"):
        StateTtlConfig.new_builder(1).cleanup_incrementally(size, False)


# Reading and writing; everything that concerns live values is in the model test


def write(state: Any, value: int) -> None:
    if hasattr(state, "put"):
        state.put("x", value)
    else:
        getattr(state, "add", getattr(state, "update", None))(value)


def read(state: Any) -> Any:
    if hasattr(state, "put"):
        return state.get("x")
    return state.value() if hasattr(state, "value") else state.get()


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("number", range(5))
def test_a_value_lives_for_the_time_to_live(number: int, restart: bool) -> None:
    job = Job()
    write(job.state(kinds()[number]), 1)
    job.end_epoch(restart=restart)
    job.now += TTL - 1
    state = job.state(kinds()[number])
    alive = read(state)
    assert alive in (1, 10, [1])
    job.end_epoch(restart=restart)
    job.now += 1
    assert not read(job.state(kinds()[number]))


@pytest.mark.parametrize("number", range(5))
def test_reading_prolongs_a_life_only_where_that_is_said(number: int) -> None:
    for builder, lives in ((StateTtlConfig.new_builder(TTL).update_ttl_on_read_and_write(), True), (None, False)):
        job = Job(builder)
        state = job.state(kinds()[number])
        write(state, 1)
        for _ in range(3):
            job.now += TTL // 2
            read(state)
            job.end_epoch()
        assert bool(read(state)) is lives


@pytest.mark.parametrize("number", [0, 2, 3, 4])
def test_an_expired_value_can_be_shown_once(number: int) -> None:
    job = Job(shown())
    state = job.state(kinds()[number])
    write(state, 1)
    job.end_epoch()
    job.now += TTL
    assert read(state) in (1, 10)
    assert read(state) is None


def test_expired_elements_of_a_list_are_shown_while_others_live() -> None:
    job = Job(shown().disable_cleanup_in_background())
    state = job.state(kinds()[1])
    state.add(1)
    job.now += TTL - 1
    state.add(2)
    job.now += 1
    assert state.get() == [1, 2]
    assert state.get() == [1, 2]
    job.now += TTL
    assert state.get() == [1, 2]
    assert state.get() == []


def test_what_is_added_to_an_expired_value_starts_anew_unless_that_is_shown() -> None:
    for builder, expected in ((None, (2, 20)), (shown(), (3, 30))):
        job = Job(builder)
        total, aggregate = job.state(kinds()[3]), job.state(kinds()[4])
        total.add(1)
        aggregate.add(1)
        job.now += TTL
        total.add(2)
        aggregate.add(2)
        assert (total.get(), aggregate.get()) == expected


def test_accumulators_of_other_keys_are_merged_unless_they_have_expired() -> None:
    job = Job()
    state = job.state(kinds()[4])
    state.add(5)
    job.key = "other"
    state.add(2)
    other = state.accumulator
    job.key = "k"
    state.merge(other)
    assert state.get() == 70
    job.now += TTL
    assert state.accumulator is None
    state.merge(other)
    assert state.get() == 20


def test_every_entry_of_a_map_has_its_own_life() -> None:
    job = Job()
    state = job.state(kinds()[2])
    state.put("a", 1)
    job.now += TTL // 2
    state.put_all({"b": 2, "c": 3})
    job.now += TTL // 2
    assert state.items() == [("b", 2), ("c", 3)]
    assert not state.contains("a")
    assert state.keys() == ["b", "c"]
    assert state.values() == [2, 3]
    job.now += TTL
    assert state.is_empty()


def test_values_are_checked_and_copied_as_without_a_time_to_live() -> None:
    job = Job()
    with pytest.raises(TypeMismatchError, match="is not an int"):
        job.state(kinds()[0]).update("x")
    with pytest.raises(TypeMismatchError, match="is not an int"):
        job.state(kinds()[1]).add_all(["x"])


def test_a_disabled_time_to_live_is_none() -> None:
    job = Job(StateTtlConfig.new_builder(1).set_update_type(StateTtlConfig.UpdateType.Disabled))
    state = job.state(kinds()[0])
    state.update(1)
    job.now += 1_000_000
    assert state.value() == 1
    job.end_epoch()
    job.config = None
    job.open()
    assert job.state(kinds()[0]).value() == 1


# What is stored


def test_the_stored_form() -> None:
    job = Job()
    job.state(kinds()[0]).update(5)
    job.now = 1_050
    job.state(kinds()[1]).add_all([5, 6])
    job.backend.flush()
    stored = dict(job.store.changes())
    value, listed = (
        next(data for key, data in stored.items() if key.startswith(job.backend._handles[name].keys_in_store.prefix))
        for name in ("value", "list")
    )
    long_5 = b"\x01" + (5).to_bytes(8, "little")
    long_6 = b"\x01" + (6).to_bytes(8, "little")
    assert value == (1_000 + 2**63).to_bytes(8, "big") + long_5
    length = (9).to_bytes(4, "little")
    assert listed == (
        (1_050 + 2**63).to_bytes(8, "big")
        + (2).to_bytes(4, "little")
        + (1_050).to_bytes(8, "little") * 2
        + length + long_5 + length + long_6
    )  # fmt: skip


@pytest.mark.parametrize("number", range(5))
def test_a_time_to_live_cannot_be_added_to_state_that_has_none(number: int) -> None:
    job = Job()
    config, job.config = job.config, None
    write(job.state(kinds()[number]), 1)
    job.end_epoch(restart=True)
    job.config = config
    with pytest.raises(StateError, match="written without a time to live and is now used with one"):
        job.state(kinds()[number])


@pytest.mark.parametrize("number", range(5))
def test_a_time_to_live_cannot_be_taken_away(number: int) -> None:
    job = Job()
    write(job.state(kinds()[number]), 1)
    job.end_epoch(restart=True)
    job.config = None
    with pytest.raises(StateError, match="written with a time to live and is now used without one"):
        job.state(kinds()[number])


def test_another_time_to_live_applies_to_what_is_there() -> None:
    job = Job()
    job.state(kinds()[0]).update(1)
    job.end_epoch(restart=True)
    job.config = StateTtlConfig.new_builder(10 * TTL).build()
    job.now += 2 * TTL
    assert job.state(kinds()[0]).value() == 1


def test_one_state_with_and_without_a_time_to_live_is_refused() -> None:
    job = Job()
    job.state(kinds()[0])
    job.config = None
    with pytest.raises(StateError, match="both with and without a time to live"):
        job.state(kinds()[0])


def test_two_kinds_are_named_as_such() -> None:
    job = Job()
    job.state(ValueStateDescriptor("x"))
    with pytest.raises(StateError, match="two kinds of state: ValueState and MapState"):
        job.state(MapStateDescriptor("x"))


def test_only_keyed_state_expires() -> None:
    descriptor = MapStateDescriptor("m")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(1).build())
    with pytest.raises(StateError, match="only keyed state expires"):
        BroadcastStateBackend(MemoryStore(), "operator").get_broadcast_state(descriptor)


def test_state_without_a_time_to_live_stores_nothing_more() -> None:
    job = Job()
    job.config = None
    job.state(kinds()[0]).update(1)
    job.backend.flush()
    assert not [key for key, _ in job.store.changes() if key[8:12] == b"\0ttl"]


# Clean-up


def fill(job: Job, descriptor: StateDescriptor, keys: str = "abcdefghij") -> Any:
    state = job.state(descriptor)
    for key in keys:
        job.key = key
        write(state, 1)
    job.end_epoch()
    return state


@pytest.mark.parametrize("number", range(5))
def test_incremental_clean_up_looks_at_so_many_entries_for_every_use(number: int) -> None:
    job = Job(StateTtlConfig.new_builder(TTL).disable_cleanup_in_background().cleanup_incrementally(3, False))
    descriptor = kinds()[number]
    state = fill(job, descriptor)
    job.now += TTL
    left = []
    for _ in range(4):
        job.key = "new"
        read(state)
        job.end_epoch()
        left.append(len(job.stored_keys(descriptor.name)))
    assert left == [7, 4, 1, 0]


def test_incremental_clean_up_goes_on_where_another_process_left_off() -> None:
    job = Job(StateTtlConfig.new_builder(TTL).disable_cleanup_in_background().cleanup_incrementally(3, False))
    descriptor = kinds()[0]
    fill(job, descriptor)
    job.now += TTL
    for expected in (7, 4, 1, 0):
        job.open()
        job.key = "new"
        job.state(descriptor).value()
        job.end_epoch()
        assert len(job.stored_keys("value")) == expected


def test_clean_up_for_every_record_needs_no_use() -> None:
    job = Job(StateTtlConfig.new_builder(TTL).disable_cleanup_in_background().cleanup_incrementally(2, True))
    fill(job, kinds()[0])
    job.now += TTL
    job.backend.count_records(3)
    job.end_epoch()
    assert len(job.stored_keys("value")) == 4


def test_a_round_does_not_begin_again_at_once() -> None:
    job = Job(StateTtlConfig.new_builder(TTL).disable_cleanup_in_background().cleanup_incrementally(100, False))
    state = fill(job, kinds()[0], "ab")
    scans: list[bytes] = []
    scan = job.store.scan
    job.store.scan = lambda start, end: (scans.append(start), scan(start, end))[1]  # type: ignore[method-assign]
    began = []
    for _ in range(2 * TTL):
        job.now += 1
        job.key = "a"
        state.update(1)
        job.end_epoch()
        if scans:
            began.append(job.now)
        scans.clear()
    assert began == list(range(began[0], began[0] + 2 * TTL, TTL // 10))
    assert job.stored_keys("value") == ["a"]


def test_what_clean_up_has_removed_is_not_shown() -> None:
    job = Job(shown().cleanup_incrementally(100, False))
    state = fill(job, kinds()[0], "ab")
    job.now += TTL
    job.key = "a"
    assert state.value() == 1
    job.end_epoch()
    job.key = "b"
    assert state.value() is None


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("strategy", ["full snapshot", "compaction", "background", "none"])
def test_snapshots_are_free_of_what_has_expired(strategy: str, number: int) -> None:
    builder = StateTtlConfig.new_builder(TTL)
    if strategy != "background":
        builder.disable_cleanup_in_background()
    if strategy == "full snapshot":
        builder.cleanup_full_snapshot()
    if strategy == "compaction":
        builder.cleanup_in_rocksdb_compact_filter(1000)
    job = Job(builder)
    descriptor = kinds()[number]
    state = fill(job, descriptor, "ab")
    job.now += TTL - 1
    job.key = "b"
    write(state, 1)
    job.now += 1
    job.backend.flush()
    job.backend.clean_up_before_snapshot()
    job.end_epoch()
    assert job.stored_keys(descriptor.name) == (["a", "b"] if strategy == "none" else ["b"])
    job.open()
    job.key = "b"
    if number != 1 or strategy != "none":
        assert read(job.state(descriptor)) in (1, 2, 20, [1])


def test_clean_up_of_a_list_leaves_the_rest_as_it_is() -> None:
    job = Job()
    state = job.state(kinds()[1])
    for value in range(20):
        state.add(value)
        job.now += 10
        job.end_epoch()
    alive = state.get()
    assert alive == list(range(20 - TTL // 10 + 1, 20))
    job.backend.clean_up_before_snapshot()
    job.end_epoch(restart=True)
    state = job.state(kinds()[1])
    assert state.get() == alive
    state.add(20)
    job.end_epoch(restart=True)
    assert job.state(kinds()[1]).get() == [*alive, 20]
