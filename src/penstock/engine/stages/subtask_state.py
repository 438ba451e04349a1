"""The state of one subtask from epoch to epoch: the local store, and the durable files that are the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.common.fail_points import reach
from penstock.engine.stages.epoch_header import EpochHeader
from penstock.state.background_snapshots import Snapshots
from penstock.state.index import read_head
from penstock.state.state_file_format import read_header
from penstock.state.state_files import Snapshot, bring_to, snapshot_follows, write_delta
from penstock.state.state_sizes import Sizes, added_sizes, sizes_after
from penstock.state.storage import CheckpointStorage
from penstock.state.store import Entry, StateStore, StoreChangedError


class SubtaskState:
    """Nothing local changes before the manifest that says so exists: changes of epoch n are applied in n + 1."""

    def __init__(
        self, store: StateStore, snapshots: Snapshots, storage: CheckpointStorage, stage: int, subtask: int
    ) -> None:
        self.store = store
        self._snapshots = snapshots
        self._storage = storage
        self._stage = stage
        self._subtask = subtask
        self._parent: str | None = None
        self._staged: str | None = None
        """The head that this object staged last; it is the truth only if the next header's index names it."""
        self._changes: Sequence[Entry] = ()
        """What `_staged` changed."""
        self._has_run = False
        self.staged_bytes = 0
        self.fetched_bytes = 0
        """What was read from the checkpoint for the epoch under way, because it was not here: it has moved."""
        self.sizes: Sizes = {}
        """How large the state of each operator is, as of what was staged last."""

    @property
    def parent(self) -> str | None:
        """The state file that the epoch under way starts from."""
        return self._parent

    def bring_to_parent(self, header: EpochHeader) -> bool:
        """Makes the store hold the parent manifest's state; True if that is what this process left behind."""
        if header.bounded:
            self.store.discard_changes()
            self.store.wipe()
            return False
        head = self._head(header)
        continues = self._has_run and head == self._staged
        self.fetched_bytes = 0
        if not (continues and self._apply_own_changes(head)):
            self.fetched_bytes = bring_to(self.store, head, self._storage)
        if head is not None:
            self._snapshots.begin(self.store, self._storage, head, self._prefix(header))
        self._parent = head
        return continues

    def stage(self, header: EpochHeader, clean_up: Callable[[], None]) -> str | None:
        """Writes what the epoch changed as one file and returns the subtask's new head.

        `clean_up` removes what has expired from the store; it is called when a snapshot of all state comes next.
        """
        parent = None if self._parent is None else read_header(self._storage, self._parent)
        changes = self.store.changes()
        self.staged_bytes = changes.size
        if snapshot_follows(parent, self.staged_bytes) and not self._snapshots.is_pending:
            clean_up()
            changes = self.store.changes()
        self._staged = self._parent
        self.sizes = {} if parent is None else parent.sizes
        if changes:
            base = self._snapshots.take(self._storage, self._parent, header.epoch.number)
            self.sizes = self._corrected(sizes_after(self.sizes, changes, self.store), base)
            self._staged = write_delta(
                self._storage, self._prefix(header), changes, self._parent, header.epoch, self.sizes, base
            )
            reach("task.state.staged")
        self._has_run = True
        self._changes = changes
        return self._staged

    def continues(self, header: EpochHeader) -> bool:
        """Whether the state that the header's epoch starts from is what this object staged last."""
        return self._has_run and self._head(header) == self._staged

    def close(self) -> None:
        """Lets go of the local store."""
        self.store.close()

    def _head(self, header: EpochHeader) -> str | None:
        return None if header.index is None else read_head(self._storage, header.index, self._stage, self._subtask)

    def _prefix(self, header: EpochHeader) -> str:
        return header.staging(self._stage, self._subtask, "state")

    def _corrected(self, sizes: Sizes, base: Snapshot | None) -> Sizes:
        """Snapshots count what deltas estimate."""
        if base is None:
            return sizes
        counted, estimated = (read_header(self._storage, path).sizes for path in (base.path, base.of))
        return added_sizes(added_sizes(sizes, counted), estimated, sign=-1)

    def _apply_own_changes(self, head: str | None) -> bool:
        """The changes of the last epoch are still in memory: their file need not be read again."""
        if head == self._parent:
            self.store.discard_changes()
            return self.store.tag == head
        if head is None or self.store.tag != self._parent:
            return False
        try:
            self.store.apply(self._changes, head)
        except StoreChangedError:
            return False
        self.store.discard_changes()
        return True
