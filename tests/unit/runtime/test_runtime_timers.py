from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.errors import StateError
from penstock.functions.timer_service import TimeDomain
from penstock.runtime.timers import Timer, TimerQueue
from penstock.state.memory import MemoryStore


def queue_on(store: MemoryStore, uid: str = "op", domain: TimeDomain = TimeDomain.EVENT_TIME) -> TimerQueue:
    return TimerQueue(store, uid, domain, 128)


def commit(store: MemoryStore) -> MemoryStore:
    """The store as another process finds it after the epoch."""
    changes = store.changes()
    store.discard_changes()
    store.apply(changes, "next")
    return store


def test_timers_fire_in_the_order_of_time() -> None:
    queue = queue_on(MemoryStore())
    for timestamp in (30, -10, 20, 1 << 40):
        queue.register(timestamp, b"k")
    assert [timestamp for timestamp, _, _ in queue.due(30)] == [-10, 20, 30]
    assert queue.earliest() == 1 << 40


def test_a_timer_is_set_once_however_often_it_is_registered() -> None:
    store = MemoryStore()
    queue = queue_on(store)
    queue.register(5, b"k")
    queue.register(5, b"k")
    queue.flush()
    queue.register(5, b"k")
    assert list(queue.due(9)) == [(5, b"k", b"")]
    queue.flush()
    assert list(queue_on(commit(store)).due(9)) == []


def test_a_deleted_timer_does_not_fire() -> None:
    queue = queue_on(MemoryStore())
    queue.register(5, b"k")
    queue.register(6, b"k")
    queue.flush()
    queue.register(7, b"k")
    queue.delete(5, b"k")
    queue.delete(7, b"k")
    assert queue.earliest() == 6
    assert [timestamp for timestamp, _, _ in queue.due(9)] == [6]


def test_keys_and_namespaces_are_told_apart() -> None:
    store = MemoryStore()
    queue = queue_on(store)
    timers = {(5, b"a", b"bc"), (5, b"ab", b"c"), (5, b"abc", b"")}
    for timer in timers:
        queue.register(*timer)
    queue.flush()
    assert set(queue_on(commit(store)).due(5)) == timers


def test_a_timer_set_while_firing_comes_in_its_turn() -> None:
    queue = queue_on(MemoryStore())
    for timestamp in (10, 20, 30):
        queue.register(timestamp, b"k")
    queue.flush()
    fired: list[int] = []
    for timestamp, key, _ in queue.due(25):
        fired.append(timestamp)
        if timestamp == 10:
            queue.register(15, key)
            queue.register(26, key)
            queue.delete(20, key)
            queue.register(5, key)
    assert fired == [10, 5, 15]
    assert [timestamp for timestamp, _, _ in queue.due(99)] == [26, 30]


def test_a_firing_timer_can_set_itself_again() -> None:
    queue = queue_on(MemoryStore())
    queue.register(1, b"k")
    queue.flush()
    fired = 0
    for timestamp, key, _ in queue.due(1):
        fired += 1
        if fired < 3:
            queue.register(timestamp, key)
    assert fired == 3
    assert queue.earliest() is None


def test_operators_and_time_domains_have_queues_of_their_own() -> None:
    store = MemoryStore()
    queues = [queue_on(store, uid, domain) for uid in ("a", "b") for domain in TimeDomain]
    for number, queue in enumerate(queues):
        queue.register(number, b"k")
        queue.flush()
    assert [queue.earliest() for queue in queues] == [0, 1, 2, 3]


def test_what_is_not_flushed_is_forgotten_with_the_caches() -> None:
    store = MemoryStore()
    queue = queue_on(store)
    queue.register(1, b"k")
    queue.flush()
    queue.register(2, b"k")
    assert next(queue.due(1)) == (1, b"k", b"")
    queue.drop_caches()
    assert [timestamp for timestamp, _, _ in queue.due(9)] == [1]


def test_a_timer_set_and_fired_within_an_epoch_leaves_nothing_in_the_delta() -> None:
    store = MemoryStore()
    queue = queue_on(store)
    queue.register(1, b"k")
    queue.register(2, b"k")
    queue.delete(2, b"k")
    list(queue.due(1))
    queue.flush()
    assert store.changes() == []


def test_firing_reads_due_timers_only() -> None:
    class CountingStore(MemoryStore):
        read = 0

        def scan(self, start: bytes, end: bytes):  # type: ignore[no-untyped-def]
            for entry in super().scan(start, end):
                self.read += 1
                yield entry

    store = CountingStore()
    queue = queue_on(store)
    for timestamp in range(5_000):
        queue.register(timestamp, b"k")
    queue.flush()
    store.read = 0
    assert len(list(queue.due(2))) == 3
    assert list(queue.due(2)) == []
    assert store.read == 3


@pytest.mark.parametrize("timestamp", [1 << 63, float("nan"), 1e30, "soon", None])
def test_what_is_no_time_is_refused(timestamp: object) -> None:
    queue = queue_on(MemoryStore())
    with pytest.raises(StateError, match="a time in milliseconds"):
        queue.register(timestamp, b"k")  # type: ignore[arg-type]
    with pytest.raises(StateError, match="a time in milliseconds"):
        queue.delete(timestamp, b"k")  # type: ignore[arg-type]
    queue.flush()
    assert queue.earliest() is None


def test_what_is_behind_the_point_of_a_time_is_cut_off_as_in_pyflink() -> None:
    queue = queue_on(MemoryStore())
    queue.register(1.5, b"k")  # type: ignore[arg-type]
    queue.register(1, b"k")
    queue.register(2.9, b"k")  # type: ignore[arg-type]
    queue.delete(2.1, b"k")  # type: ignore[arg-type]
    assert list(queue.due(5)) == [(1, b"k", b"")]


times = st.integers(-5, 25)
keys = st.sampled_from([b"", b"a", b"ab", b"b" * 600])
steps = st.one_of(
    st.tuples(st.just("register"), times, keys, st.sampled_from([b"", b"w"])),
    st.tuples(st.just("delete"), times, keys, st.sampled_from([b"", b"w"])),
    st.tuples(st.just("due"), times),
    st.tuples(st.sampled_from(["flush", "restart"])),
)


@given(st.lists(steps, max_size=80))
def test_any_sequence_agrees_with_a_set(sequence: list[tuple[object, ...]]) -> None:
    store = MemoryStore()
    queue = queue_on(store)
    model: set[Timer] = set()
    for name, *arguments in sequence:
        if name == "register":
            queue.register(*arguments)  # type: ignore[arg-type]
            model.add(tuple(arguments))  # type: ignore[arg-type]
        elif name == "delete":
            queue.delete(*arguments)  # type: ignore[arg-type]
            model.discard(tuple(arguments))  # type: ignore[arg-type]
        elif name == "due":
            fired = list(queue.due(arguments[0]))  # type: ignore[arg-type]
            due = {timer for timer in model if timer[0] <= arguments[0]}  # type: ignore[operator]
            assert len(fired) == len(due)
            assert set(fired) == due
            assert [timer[0] for timer in fired] == sorted(timer[0] for timer in due)
            model -= due
        else:
            queue.flush()
            if name == "restart":
                queue = queue_on(commit(store))
        assert queue.earliest() == min((timer[0] for timer in model), default=None)


@given(st.sets(st.tuples(times, keys, st.just(b"")), max_size=30), st.data())
def test_the_order_of_firing_does_not_depend_on_what_was_flushed(timers: set[Timer], data: st.DataObject) -> None:
    at_once, in_parts = queue_on(MemoryStore()), queue_on(MemoryStore())
    for timer in timers:
        at_once.register(*timer)
        in_parts.register(*timer)
        if data.draw(st.booleans()):
            in_parts.flush()
    assert list(at_once.due(99)) == list(in_parts.due(99))
