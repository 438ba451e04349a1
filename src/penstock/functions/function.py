"""What all user functions have in common: a life from `open` to `close`, and a context to ask."""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.functions.distributed_cache import DistributedCache
from penstock.functions.metrics import MetricGroup
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.state.state import AggregatingState, ListState, MapState, ReducingState, ValueState


class KeyedStateStore(ABC):
    """Gives out handles to keyed state: what a handle reads and writes belongs to the current key."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState:
        """State that is one value."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        """State that is a list."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState:
        """State that is a map."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState:
        """State that is all values added to it, reduced to one."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState:
        """State that is an accumulator of all values added to it."""


class RuntimeContext(KeyedStateStore):
    """Where a function runs: its task, its state and its metrics.

    >>> class Where(MapFunction):
    ...     def open(self, runtime_context):
    ...         self.calls = runtime_context.get_metrics_group().counter("calls")
    ...         self.where = runtime_context.get_task_name_with_subtasks()
    ...
    ...     def map(self, value):
    ...         self.calls.inc()
    ...         return f"{value} in {self.where}"
    >>> list(env.from_collection([1, 2]).map(Where()).name("Where").execute_and_collect())
    ['1 in Where (1/1)#0', '2 in Where (1/1)#0']
    """

    @abstractmethod
    def get_task_name(self) -> str:
        """The operator's name."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """How many subtasks the operator has."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """How many subtasks the operator can have: the number of its key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """The number of this subtask, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How often this subtask was started before."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """The operator's name, the subtask, counted from 1, and the attempt: `Map (3/6)#0`."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global parameter of the job, or the default."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """The operator's metrics."""

    @abstractmethod
    def get_distributed_cache(self) -> DistributedCache:
        """The files that travel with the job."""


class Function(ABC):  # noqa: B024 (subclasses have abstract methods)
    """The base of all function classes.

    An instance is copied to every subtask. `open` is called there once, before the first record: ask for state in
    it and keep the handles. What else is kept in `self` is not state, and gone after a failure.

    >>> class Prefixed(MapFunction):
    ...     def __init__(self, prefix):
    ...         self.prefix = prefix  # travels with the function
    ...
    ...     def open(self, runtime_context):
    ...         self.count = 0  # made in the subtask
    ...
    ...     def map(self, value):
    ...         self.count += 1
    ...         return f"{self.prefix}{self.count} {value}"
    >>> list(env.from_collection(["a", "b"]).map(Prefixed("no. ")).execute_and_collect())
    ['no. 1 a', 'no. 2 b']
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once in the subtask, before the first record."""
        return

    def close(self) -> None:
        """Called at the end of the job; not promised after a failure."""
        return
