"""What a user function can ask about where it runs, answered from the operator's context."""

from __future__ import annotations

from pathlib import Path

from penstock.common.errors import StateError
from penstock.functions.distributed_cache import DistributedCache
from penstock.functions.function import RuntimeContext
from penstock.functions.metrics import MetricGroup
from penstock.runtime.operator import OperatorContext
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.state.keyed import KeyedStateBackend
from penstock.state.state import AggregatingState, ListState, MapState, ReducingState, ValueState


class OperatorRuntimeContext(RuntimeContext):
    """The runtime context of an operator subtask; state is there when the operator is keyed."""

    def __init__(self, context: OperatorContext, keyed_state: KeyedStateBackend | None = None) -> None:
        self._context = context
        self._keyed_state = keyed_state

    def get_task_name(self) -> str:
        """The operator's name."""
        return self._context.name

    def get_number_of_parallel_subtasks(self) -> int:
        """How many subtasks the operator has."""
        return self._context.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """How many subtasks the operator can have."""
        return self._context.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """The number of this subtask, from 0."""
        return self._context.subtask

    def get_attempt_number(self) -> int:
        """How often this subtask was started before."""
        return self._context.attempt

    def get_task_name_with_subtasks(self) -> str:
        """The operator's name, the subtask, counted from 1, and the attempt."""
        subtask = f"{self._context.subtask + 1}/{self._context.parallelism}"
        return f"{self._context.name} ({subtask})#{self._context.attempt}"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global parameter of the job, or the default."""
        return self._context.job_parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        """The operator's metrics."""
        return self._context.metrics

    def get_distributed_cache(self) -> DistributedCache:
        """The files that travel with the job."""
        return DistributedCache({name: Path(path) for name, path in self._context.cached_files.items()})

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState:
        """State that is one value."""
        return self._keyed().get_state(state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        """State that is a list."""
        return self._keyed().get_list_state(state_descriptor)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState:
        """State that is a map."""
        return self._keyed().get_map_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState:
        """State that is all values added to it, reduced to one."""
        return self._keyed().get_reducing_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState:
        """State that is an accumulator of all values added to it."""
        return self._keyed().get_aggregating_state(state_descriptor)

    def _keyed(self) -> KeyedStateBackend:
        if self._keyed_state is None:
            raise StateError(
                f"operator '{self._context.name}' asks for keyed state, but its input is not keyed; "
                "put key_by(...) before it"
            )
        return self._keyed_state
