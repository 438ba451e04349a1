"""The state of a function that saves it itself: taken up before the function is opened, saved at every epoch's end."""

from __future__ import annotations

from penstock.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from penstock.functions.function import KeyedStateStore
from penstock.runtime.operator import OperatorContext
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.operator_state import OperatorStateBackend
from penstock.state.state import OperatorStateStore


class _InitializationContext(FunctionInitializationContext):
    def __init__(self, restored: int | None, operator_state: OperatorStateStore, keyed_state: KeyedStateStore) -> None:
        self._restored = restored
        self._operator_state = operator_state
        self._keyed_state = keyed_state

    def is_restored(self) -> bool:
        return self._restored is not None

    def get_restored_checkpoint_id(self) -> int | None:
        return self._restored

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._operator_state

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._keyed_state


class _SnapshotContext(FunctionSnapshotContext):
    def __init__(self, context: OperatorContext) -> None:
        self._context = context

    def get_checkpoint_id(self) -> int:
        return self._context.epoch.number

    def get_checkpoint_timestamp(self) -> int:
        return self._context.processing_time


class CheckpointedState:
    """The operator state of one function in one subtask."""

    def __init__(
        self,
        function: CheckpointedFunction,
        context: OperatorContext,
        broadcast_state: BroadcastStateBackend,
        keyed_state: KeyedStateStore,
    ) -> None:
        self._function = function
        self._context = context
        self._state = OperatorStateBackend(context.store, context.uid, broadcast_state, context.union_lists)
        self._union_lists: dict[str, str] = {}
        function.initialize_state(_InitializationContext(context.restored_epoch, self._state, keyed_state))
        self._state.flush()

    def snapshot(self) -> None:
        """Lets the function save what it must remember, and writes that to the store."""
        self._function.snapshot_state(_SnapshotContext(self._context))
        self._state.flush()
        self._union_lists = self._state.saved_union_lists()

    @property
    def union_lists(self) -> dict[str, str]:
        """The union lists as the last snapshot left them."""
        return self._union_lists
