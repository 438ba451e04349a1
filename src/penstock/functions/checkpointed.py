"""Functions that keep something in memory and save it themselves at the end of every epoch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.functions.function import KeyedStateStore
from penstock.state.state import OperatorStateStore


class FunctionInitializationContext(ABC):
    """Where a function finds the state that it saved."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Whether there is a checkpoint to go on from; False only at the very beginning of the job."""

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """The number of the manifest that the state is as of; None when there is none."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Gives out state of the subtask, which has no key."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """Gives out state by key, where the operator is keyed."""


class FunctionSnapshotContext(ABC):
    """What a function can ask about the checkpoint that it is to be part of."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """The number of the epoch that ends."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """The processing time of the epoch that ends, in ms."""


class CheckpointedFunction(ABC):
    """To be mixed into a function class: the function has state of its subtask, beside or instead of state by key.

    >>> from penstock.datastream.functions import MapFunction
    >>> from penstock.datastream.state import ListStateDescriptor
    >>> class Numbered(MapFunction, CheckpointedFunction):
    ...     def initialize_state(self, context):
    ...         self._saved = context.get_operator_state_store().get_list_state(ListStateDescriptor("count"))
    ...         self._count = sum(self._saved.get())
    ...
    ...     def map(self, value):
    ...         self._count += 1
    ...         return self._count, value
    ...
    ...     def snapshot_state(self, context):
    ...         self._saved.update([self._count])

    Every epoch is a checkpoint, and any worker may do the next one: then a new instance of the function is made there,
    from what was saved. So a function that saves all it must remember goes on as if nothing had happened.
    """

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Called once for an instance, before `open`: asks for state and takes up what was saved."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Called at the end of every epoch: puts what is to be saved into the state."""


def checkpointed_part(function: Any) -> CheckpointedFunction | None:
    """The function itself, or the one that it is wrapped around, if that saves state of its own.

    What is wrapped around another function says so by an attribute `wrapped_function`.
    """
    while function is not None and not isinstance(function, CheckpointedFunction):
        function = getattr(function, "wrapped_function", None)
    return function
