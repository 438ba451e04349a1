from __future__ import annotations

import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory import MemoryStore
from penstock.state.snapshots import snapshot_of
from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_files import Snapshot, bring_to, can_be_base, live_files, write_delta
from penstock.state.storage import LocalCheckpointStorage

keys = st.binary(min_size=1, max_size=1).map(lambda b: bytes([b[0] % 5]))
changes = st.dictionaries(keys, st.none() | st.binary(max_size=2), max_size=4)
# An epoch: which earlier state it starts from (a restore goes back), what it changes, whether a snapshot of that is
# made, and which of those that are made becomes the base of the epoch's delta, if it fits.
epochs = st.lists(st.tuples(st.integers(0, 100), changes, st.booleans(), st.integers(0, 5)), min_size=1, max_size=12)
visits = st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=12)


@settings(max_examples=60, deadline=None)
@given(epochs, visits)
def test_any_history_of_deltas_and_snapshots_leads_to_any_of_its_states(
    history: list[tuple[int, dict[bytes, bytes | None], bool, int]], visited: list[tuple[int, bool]]
) -> None:
    with tempfile.TemporaryDirectory() as directory, patch("os.fsync"):
        storage = LocalCheckpointStorage(f"{directory}/checkpoint")
        states: list[tuple[str | None, dict[bytes, bytes]]] = [(None, {})]
        made: list[Snapshot] = []
        for epoch, (origin, changed, with_snapshot, which) in enumerate(history):
            head, content = states[origin % len(states)]
            content = {k: v for k, v in (content | changed).items() if v is not None}
            prefix = f"state/1/{epoch}-1-0"
            base = made[which % len(made)] if made else None
            if base is not None and (head is None or not can_be_base(storage, base, head)):
                base = None
            entries = SortedEntries.of_changes(changed)
            head = write_delta(storage, prefix, entries, head, (1, epoch), base=base)
            states.append((head, content))
            if with_snapshot:
                store = MemoryStore()
                bring_to(store, head, storage)
                made.append(snapshot_of(storage, store, head, prefix))
        store = LmdbStore(Path(directory) / "store")
        for number, alone in visited:
            head, content = states[number % len(states)]
            bring_to(store, head, storage)
            assert store.tag == head
            assert dict(store.scan(b"", b"\xff")) == content
            if alone and head is not None:
                keep = live_files(storage, [head])
                copy = LocalCheckpointStorage(f"{directory}/copy-{number}")
                for path in keep:
                    copy.put_if_absent(path, storage.read(path))
                fresh = MemoryStore()
                bring_to(fresh, head, copy)
                assert dict(fresh.scan(b"", b"\xff")) == content
        store.close()
