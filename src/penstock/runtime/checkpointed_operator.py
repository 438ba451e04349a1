"""What operators around a user function do for one that saves state of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.functions.checkpointed import checkpointed_part
from penstock.functions.function import KeyedStateStore
from penstock.runtime.checkpointed_state import CheckpointedState
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import Operator, OperatorContext
from penstock.state.broadcast import BroadcastStateBackend


class CheckpointedOperator(Operator):
    """Initializes a `CheckpointedFunction`, and lets it save its state at the end of every epoch."""

    _context: OperatorContext
    _checkpointed: CheckpointedState | None = None

    def snapshot_function(self) -> None:
        """Lets the function save state of its own."""
        if self._checkpointed is not None:
            try:
                self._checkpointed.snapshot()
            except Exception as error:
                raise user_function_error(error, self._context) from error

    @property
    def has_checkpointed_function(self) -> bool:
        """Whether the function saves state of its own."""
        return self._checkpointed is not None

    def union_lists(self) -> Mapping[str, str]:
        """What the function has in union lists."""
        return {} if self._checkpointed is None else self._checkpointed.union_lists

    def _initialize_function(self, function: Any, keyed_state: KeyedStateStore) -> None:
        """To be called before the function is opened."""
        checkpointed = checkpointed_part(function)
        if checkpointed is None:
            return
        try:
            self._checkpointed = CheckpointedState(
                checkpointed, self._context, self._broadcast_state_of_function(), keyed_state
            )
        except Exception as error:
            raise user_function_error(error, self._context) from error

    def _broadcast_state_of_function(self) -> BroadcastStateBackend:
        return BroadcastStateBackend(self._context.store, self._context.uid)
