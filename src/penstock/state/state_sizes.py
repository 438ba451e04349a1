"""How large the state of each operator is, kept up to date from what epochs change and counted anew in snapshots.

To know what an epoch adds, one has to know what was there before: for so many entries of an operator that is looked up,
for more it is estimated from as many of them. The next snapshot corrects the estimate.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from operator import itemgetter

from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_keys import end_of_prefix
from penstock.state.store import StateStore

Sizes = Mapping[str, Sequence[int]]
"""Entries and bytes, by the first 8 bytes of the keys of an operator's entries, in hexadecimal."""

_UID_BYTES = 8
_BOOKKEEPING = (b"\0cat", b"\0ttl")
"""What follows the operator in the keys of entries that are about state and no state themselves; in order."""
_MOST_LOOKUPS = 4096
_key_of = itemgetter(0)


def sizes_after(sizes: Sizes, changes: SortedEntries, store: StateStore) -> dict[str, list[int]]:
    """The sizes when changes are applied to the committed entries of a store."""
    result = {operator: list(size) for operator, size in sizes.items()}
    for operator, entries in _by_operator(changes):
        size = result.setdefault(operator, [0, 0])
        before = _size_before(entries, store)
        size[0] = max(0, size[0] + entries.present - before[0])
        size[1] = max(0, size[1] + entries.present_bytes - before[1])
    return {operator: size for operator, size in result.items() if size[0]}


def sizes_in(entries: SortedEntries) -> dict[str, list[int]]:
    """The sizes when the entries are all that there is."""
    result: dict[str, list[int]] = {}
    for operator, of_operator in _by_operator(entries):
        size = result.setdefault(operator, [0, 0])
        size[0] += of_operator.present
        size[1] += of_operator.present_bytes
    return result


def added_sizes(sizes: Sizes, more: Sizes, sign: int = 1) -> dict[str, list[int]]:
    """The sums of two sizes; `sign` -1: the differences."""
    return {
        operator: [
            max(0, one + sign * other)
            for one, other in zip(sizes.get(operator, (0, 0)), more.get(operator, (0, 0)), strict=True)
        ]
        for operator in {**sizes, **more}
    }


def sizes_of_operators(sizes: Sizes, uids: Iterable[str]) -> dict[str, list[int]]:
    """Entries and bytes by uid."""
    by_uid = {uid: sizes.get(blake2b(uid.encode(), digest_size=_UID_BYTES).hexdigest()) for uid in uids}
    return {uid: list(size) for uid, size in by_uid.items() if size is not None}


def _size_before(entries: SortedEntries, store: StateStore) -> tuple[int, int]:
    step = -(-len(entries) // _MOST_LOOKUPS)
    keys = [key for key, _ in (entries if step == 1 else entries[::step])]
    lengths = store.committed_lengths(keys)
    found = [len(key) + length for key, length in zip(keys, lengths, strict=True) if length >= 0]
    return len(found) * len(entries) // len(keys), sum(found) * len(entries) // len(keys)


def _by_operator(entries: SortedEntries) -> Iterator[tuple[str, SortedEntries]]:
    """The entries of each operator, possibly in several parts; those of bookkeeping are left out."""
    at = 0
    while at < len(entries):
        operator = entries[at][0][:_UID_BYTES]
        bounds: list[tuple[int, int]] = []
        for tag in _BOOKKEEPING:
            start = bisect_left(entries, operator + tag, at, key=_key_of)
            bounds.append((at, start))
            at = bisect_left(entries, end_of_prefix(operator + tag), start, key=_key_of)
        end = bisect_left(entries, end_of_prefix(operator), at, key=_key_of)
        bounds.append((at, end))
        at = end
        for start, stop in bounds:
            if start < stop:
                yield operator.hex(), entries[start:stop]
