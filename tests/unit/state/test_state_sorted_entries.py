"""Entries in the order of their keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.state.sorted_entries import SortedEntries

like_those_of_a_state = st.binary(min_size=0, max_size=9).map(lambda rest: b"operator, state" + rest.rjust(9, b"\0"))
keys = st.one_of(
    st.integers(0, 12).flatmap(lambda length: st.lists(st.binary(min_size=length, max_size=length))),
    st.lists(like_those_of_a_state),
    st.lists(st.binary(max_size=12)),
)


@given(keys.flatmap(lambda keys: st.fixed_dictionaries({key: st.none() | st.binary(max_size=3) for key in keys})))
def test_changes_are_sorted_by_key(changes: dict[bytes, bytes | None]) -> None:
    assert list(SortedEntries.of_changes(changes)) == sorted(changes.items())
