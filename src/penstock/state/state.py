"""What user functions see of state: handles whose methods work on the current key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    # So that a handle without parameters is one of any type.
    import typing_extensions  # pyright: ignore[reportMissingModuleSource]

    from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor

    T = typing_extensions.TypeVar("T", default=Any)
    K = typing_extensions.TypeVar("K", default=Any)
    V = typing_extensions.TypeVar("V", default=Any)
    IN = typing_extensions.TypeVar("IN", default=Any)
    OUT = typing_extensions.TypeVar("OUT", default=Any)
else:
    T = TypeVar("T")
    K = TypeVar("K")
    V = TypeVar("V")
    IN = TypeVar("IN")
    OUT = TypeVar("OUT")


class State(ABC):
    """State of any kind.

    What a handle returns is the caller's own, and so is what a handle was given: state keeps copies of everything that
    can be changed in place. A value that is changed and not given back by `update`, `put` or `add` is not changed in
    the state, neither for the next record nor after a restart.
    """

    @abstractmethod
    def clear(self) -> None:
        """Removes what is kept for the current key."""


class ValueState(State, Generic[T]):
    """One value.

    >>> class Highest(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.highest = runtime_context.get_state(ValueStateDescriptor("highest", Types.LONG()))
    ...
    ...     def process_element(self, value, ctx):
    ...         before = self.highest.value()
    ...         if before is None or value[1] > before:
    ...             self.highest.update(value[1])
    ...             yield value
    >>> bids = env.from_collection([("lamp", 5), ("lamp", 3), ("vase", 1), ("lamp", 8)])
    >>> list(bids.key_by(0).process(Highest()).execute_and_collect())
    [('lamp', 5), ('vase', 1), ('lamp', 8)]
    """

    @abstractmethod
    def value(self) -> T | None:
        """The value; None when there is none."""

    @abstractmethod
    def update(self, value: T | None) -> None:
        """Sets the value; None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """Something that values are added to."""

    @abstractmethod
    def get(self) -> OUT | None:
        """What the added values make."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Adds a value."""


class MergingState(AppendingState[IN, OUT]):
    """Something that values are added to, and two of which can be merged."""


class ReducingState(MergingState[T, T]):
    """All values added, reduced to one.

    >>> class Spent(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         descriptor = ReducingStateDescriptor("spent", lambda a, b: a + b, Types.LONG())
    ...         self.spent = runtime_context.get_reducing_state(descriptor)
    ...
    ...     def process_element(self, value, ctx):
    ...         self.spent.add(value[1])
    ...         yield value[0], self.spent.get()
    >>> list(env.from_collection([("visa", 2), ("visa", 3)]).key_by(0).process(Spent()).execute_and_collect())
    [('visa', 2), ('visa', 5)]
    """


class AggregatingState(MergingState[IN, OUT]):
    """An accumulator of all values added; `get` is the aggregate function's result.

    >>> class Mean(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return 0, 0
    ...
    ...     def add(self, value, accumulator):
    ...         return accumulator[0] + value, accumulator[1] + 1
    ...
    ...     def get_result(self, accumulator):
    ...         return accumulator[0] / accumulator[1]
    ...
    ...     def merge(self, acc_a, acc_b):
    ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
    >>> class MeanSpent(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean()))
    ...
    ...     def process_element(self, value, ctx):
    ...         self.mean.add(value[1])
    ...         yield value[0], self.mean.get()
    >>> list(env.from_collection([("visa", 2), ("visa", 3)]).key_by(0).process(MeanSpent()).execute_and_collect())
    [('visa', 2.0), ('visa', 2.5)]
    """


class ListState(MergingState[T, Iterable[T]]):
    """A list.

    >>> class LastThree(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.last = runtime_context.get_list_state(ListStateDescriptor("last", Types.LONG()))
    ...
    ...     def process_element(self, value, ctx):
    ...         self.last.add(value[1])
    ...         self.last.update(list(self.last.get())[-3:])
    ...         yield value[0], list(self.last)
    >>> numbers = env.from_collection([("a", n) for n in range(5)])
    >>> list(numbers.key_by(0).process(LastThree()).execute_and_collect())[-1]
    ('a', [2, 3, 4])
    """

    @abstractmethod
    def get(self) -> Iterable[T]:
        """The elements, in their order; nothing for an empty list."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replaces all elements."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Adds elements at the end."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class _ReadableMap(State, Generic[K, V]):
    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value of a key; None when there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether there is a value of this key."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """The keys with their values, always in the same order: that of the encoded keys."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """The keys, in the order of `items`."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """The values, in the order of `items`."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no key."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _WritableMap(_ReadableMap[K, V]):
    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Sets the value of a key."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """Sets the values of many keys: of a dict, or of pairs, which is what PyFlink's own state takes."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Removes a key; nothing happens when there is none."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_WritableMap[K, V]):
    """A map. Every entry is read and saved by itself: large maps cost what is used of them.

    >>> class PerPlace(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         descriptor = MapStateDescriptor("visits", Types.STRING(), Types.LONG())
    ...         self.visits = runtime_context.get_map_state(descriptor)
    ...
    ...     def process_element(self, value, ctx):
    ...         person, place = value
    ...         self.visits[place] = (self.visits[place] or 0) + 1
    ...         yield person, dict(self.visits.items())
    >>> trips = env.from_collection([("ann", "Lyon"), ("ann", "Oslo"), ("ann", "Lyon")])
    >>> list(trips.key_by(0).process(PerPlace()).execute_and_collect())[-1]
    ('ann', {'Lyon': 2, 'Oslo': 1})
    """


class ReadOnlyBroadcastState(_ReadableMap[K, V]):
    """Broadcast state as the elements of the other stream see it."""


class BroadcastState(ReadOnlyBroadcastState[K, V], _WritableMap[K, V]):
    """A map that every subtask has a copy of; broadcast elements must change it in the same way everywhere."""


class OperatorStateStore(ABC):
    """Gives out state of an operator's subtask, which belongs to no key."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState:
        """A map of which every subtask has a copy."""

    @abstractmethod
    def get_list_state(self, descriptor: ListStateDescriptor) -> ListState:
        """A list of the subtask's own. Other subtasks get other elements of it when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, descriptor: ListStateDescriptor) -> ListState:
        """A list that every subtask saves a part of and gets the whole of."""

    @abstractmethod
    def get_registered_state_names(self) -> set[str]:
        """The names of the lists that were asked for."""

    @abstractmethod
    def get_registered_broadcast_state_names(self) -> set[str]:
        """The names of the broadcast states that were asked for."""
