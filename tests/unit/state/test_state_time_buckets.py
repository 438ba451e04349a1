"""Records by key and time against a plain dict, with restarts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.common.typeinfo import Types
from penstock.state.memory import MemoryStore
from penstock.state.time_buckets import TimeBuckets

KEY = st.sampled_from([b"a", b"ab", b"b"])
TIME = st.integers(-5, 12)
OPERATION = st.tuples(st.sampled_from(["add", "add", "replace", "until", "superseded", "flush", "restart"]), KEY, TIME)


def buckets(store: MemoryStore, **settings: Any) -> TimeBuckets:
    return TimeBuckets(store, "uid", "kept", 128, Types.LONG(), **settings)


def committed(store: MemoryStore) -> int:
    changes = store.changes()
    store.discard_changes()
    store.apply(changes, "next")
    return len(list(store.scan(b"", b"\xff" * 40)))


@given(st.lists(OPERATION, max_size=60), st.sampled_from([1, 1_000]))
def test_they_hold_what_a_dict_would(operations: list[tuple[str, bytes, int]], cache_limit: int) -> None:
    store = MemoryStore()
    state = buckets(store, cache_limit=cache_limit)
    model: dict[bytes, dict[int, list[int]]] = {b"a": {}, b"ab": {}, b"b": {}}
    for number, (what, key, time) in enumerate(operations):
        own = model[key]
        match what:
            case "add":
                is_earliest = time not in own and all(time < other for other in own)
                own.setdefault(time, []).append(number)
                assert state.add(key, time, number) is is_earliest
            case "replace":
                own[time] = [number]
                state.replace(key, time, number)
            case "until":
                taken = [(each, own.pop(each)) for each in sorted(own) if each <= time]
                assert state.remove_until(key, time) == taken
            case "superseded":
                for each in sorted(each for each in own if each <= time)[:-1]:
                    del own[each]
                state.remove_superseded(key, time)
            case _:
                state.flush()
                assert committed(store) == sum(map(len, model.values()))
                if what == "restart":
                    state = buckets(store, cache_limit=cache_limit)
        found = state.of(key)
        assert (found.times, found.records) == (sorted(own), own)
        assert found.before(time) == own.get(max((each for each in own if each <= time), default=-99))


def test_what_comes_and_goes_in_between_is_not_written() -> None:
    store = MemoryStore()
    state = buckets(store)
    state.add(b"a", 1, 10)
    state.remove_until(b"a", 5)
    state.flush()
    assert list(store.changes()) == []


def test_dropping_caches_forgets_what_was_not_written() -> None:
    store = MemoryStore()
    state = buckets(store)
    state.add(b"a", 1, 10)
    state.flush()
    state.add(b"a", 2, 20)
    state.drop_caches()
    assert state.of(b"a").records == {1: [10]}
