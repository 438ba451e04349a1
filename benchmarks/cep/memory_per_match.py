"""What partial matches take, in memory and in the store, beside the events themselves.

    PYTHONPATH=benchmarks python benchmarks/cep/memory_per_match.py

Every key has one partial match of some events; the figures are of one key.
"""

from __future__ import annotations

import tracemalloc

from penstock.cep import Pattern
from penstock.runtime.cep.condition_tests import ConditionTests
from penstock.runtime.cep.match_store import MatchStore
from penstock.runtime.cep.matches import Event
from penstock.runtime.cep.nfa import Nfa
from penstock.state.key_encoding import encode_key
from penstock.state.memory import MemoryStore

KEYS = 10_000
LENGTHS = (1, 2, 11, 51)
START_OF_TIME = 1_700_000_000_000
FIRST, MORE = "f", "m"
"""Events: one object each. What they take is not counted in memory, and a few bytes in the store."""


def chain_of_events() -> Pattern:
    """An event, and any number behind it."""
    first = Pattern.begin("first").where(lambda event: event == FIRST)
    loop = first.next("more").where(lambda event: event == MORE).one_or_more().consecutive()
    return loop.next("end").where(lambda event: event == "e")


def bytes_of_key(length: int) -> tuple[float, float]:
    """What a key with a partial match of so many events takes in memory and in the store."""
    nfa = Nfa(
        chain_of_events().definition(),
        ConditionTests(None),
        limit=10,
        processing_time=lambda: 0,
        wants_timed_out=False,
    )
    keys = [encode_key(number) for number in range(KEYS)]
    store = MemoryStore()
    matches_of = MatchStore(store, "uid", "matches", 128, nfa)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for key in keys:
        matches = nfa.new_matches()
        for place in range(length):
            # A time is a number of its own, as those of real events are.
            nfa.process(matches, Event(MORE if place else FIRST, START_OF_TIME + place))
        matches_of.put(key, matches)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    matches_of.flush()
    stored = sum(len(key) + len(value or b"") for key, value in store.changes())
    return (after - before) / KEYS, stored / KEYS


def main() -> None:
    print("| events of the partial match | bytes in memory | bytes in the store |")
    print("|---:|---:|---:|")
    for length in LENGTHS:
        in_memory, stored = bytes_of_key(length)
        print(f"| {length} | {in_memory:,.0f} | {stored:,.0f} |")


if __name__ == "__main__":
    main()
