"""State of one operator subtask that belongs to no key, and how it is spread anew over other subtasks."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from penstock.common.errors import StateError
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from penstock.state.handle import DEFAULT_CACHE_LIMIT
from penstock.state.list_handle import ListHandle
from penstock.state.own_copy import own_copy
from penstock.state.state import BroadcastState, ListState, OperatorStateStore
from penstock.state.state_keys import OperatorKeys
from penstock.state.store import StateStore
from penstock.state.value_serializers import OneByOne, ValueSerializer, serializer_for

T = TypeVar("T")

UnionLists = Mapping[str, Sequence[str]]
"""What all subtasks of a job have in union lists: by `union_key`, the list of each subtask, as text."""


def union_key(uid: str, name: str) -> str:
    """What the union list of a name of an operator is called in `UnionLists`."""
    return OperatorKeys(uid, name).prefix.hex()


def split_evenly(lists: Sequence[Sequence[T]], parallelism: int, first: int = 0) -> list[list[T]]:
    """The elements of all subtasks, in their order, cut into as many runs as there are to be subtasks.

    Lengths differ by one at most; the longer ones go to the subtasks from `first` on.
    """
    elements = [element for each in lists for element in each]
    length, longer = divmod(len(elements), parallelism)
    result: list[list[T]] = [[] for _ in range(parallelism)]
    at = 0
    for number in range(parallelism):
        end = at + length + (number < longer)
        result[(first + number) % parallelism] = elements[at:end]
        at = end
    return result


def unite(lists: Sequence[Sequence[T]]) -> list[T]:
    """What every subtask gets of a union list: the elements of all, by subtask."""
    return [element for each in lists for element in each]


class _OperatorListHandle(ListHandle):
    """A list without a key. It is often set anew with what it has already: that costs nothing."""

    _may_have_gaps = True

    def _put(self, store_key: bytes, data: bytes) -> None:
        if self._store.get(store_key) != data:
            self._store.put(store_key, data)


class _UnionListHandle(ListState[Any]):
    """A union list: what it has at first is that of all subtasks, what is saved is that of this one."""

    def __init__(self, name: str, serializer: ValueSerializer, of_all: Sequence[str]) -> None:
        self.name = name
        self._serializer = serializer
        self._elements = unite([serializer.loads_many(b64decode(text)) for text in of_all])

    def get(self) -> list[Any]:
        """The elements, in a list of the caller's own."""
        return list(map(own_copy, self._elements))

    def add(self, value: Any) -> None:
        """Adds an element at the end."""
        self._elements.append(own_copy(self._serializer.convert(value)))

    def add_all(self, values: Sequence[Any]) -> None:
        """Adds elements at the end."""
        for value in values:
            self.add(value)

    def update(self, values: Sequence[Any]) -> None:
        """Replaces all elements."""
        self._elements = []
        self.add_all(values)

    def clear(self) -> None:
        """Removes all elements."""
        self._elements = []

    def saved(self) -> str:
        """The elements as text."""
        try:
            return b64encode(self._serializer.dumps_many(self._elements)).decode()
        except Exception as error:
            raise StateError(f"union list state '{self.name}': cannot save {self._elements!r}: {error}") from error


class OperatorStateBackend(OperatorStateStore):
    """Makes handles of operator state.

    List and broadcast state are entries of the subtask's store. Union lists are not: every subtask reads those of all,
    so the driver keeps them, and `union_lists` is what it has.
    """

    current_key: bytes | None = b""
    """The same for all entries: operator state has no key."""

    def __init__(
        self, store: StateStore, uid: str, broadcast: BroadcastStateBackend, union_lists: UnionLists | None = None
    ) -> None:
        self._store = store
        self._uid = uid
        self._broadcast = broadcast
        self._broadcast_names: set[str] = set()
        self._of_all_subtasks = union_lists or {}
        self._lists: dict[str, _OperatorListHandle] = {}
        self._union_lists: dict[str, _UnionListHandle] = {}

    def get_list_state(self, descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list of the subtask's own."""
        name = self._checked(descriptor, ListStateDescriptor, self._union_lists)
        if union_key(self._uid, name) in self._of_all_subtasks:
            raise self._changed_mode(name, "union list state", "list state")
        handle = self._lists.get(name)
        if handle is None:
            self._broadcast.catalogue.add(descriptor, "OperatorListState")
            handle = self._lists[name] = _OperatorListHandle(
                name,
                self,
                self._store,
                OperatorKeys(self._uid, name),
                DEFAULT_CACHE_LIMIT,
                OneByOne(serializer_for(descriptor.element_type)),
            )
        return handle

    def get_union_list_state(self, descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list that has, when the function is initialized, the elements of all subtasks."""
        name = self._checked(descriptor, ListStateDescriptor, self._lists)
        start = OperatorKeys(self._uid, name).of(b"")
        if next(self._store.scan(start, start + b"\xff"), None) is not None:
            raise self._changed_mode(name, "list state", "union list state")
        handle = self._union_lists.get(name)
        if handle is None:
            of_all = self._of_all_subtasks.get(union_key(self._uid, name), ())
            self._broadcast.catalogue.add(descriptor, "UnionListState")
            serializer = OneByOne(serializer_for(descriptor.element_type))
            handle = self._union_lists[name] = _UnionListHandle(name, serializer, of_all)
        return handle

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """A map of which every subtask has a copy."""
        state = self._broadcast.get_broadcast_state(state_descriptor)
        self._broadcast_names.add(state_descriptor.name)
        return state

    def get_registered_state_names(self) -> set[str]:
        """The names of the lists that were asked for."""
        return {*self._lists, *self._union_lists}

    def get_registered_broadcast_state_names(self) -> set[str]:
        """The names of the broadcast states that were asked for."""
        return set(self._broadcast_names)

    def flush(self) -> None:
        """Writes what was set to the store."""
        for handle in self._lists.values():
            handle.flush()
        self._broadcast.flush()
        self._broadcast.catalogue.flush()

    def saved_union_lists(self) -> dict[str, str]:
        """The union lists of this subtask, for the driver."""
        return {union_key(self._uid, name): handle.saved() for name, handle in self._union_lists.items()}

    def _checked(self, descriptor: StateDescriptor, kind: type[StateDescriptor], others: Mapping[str, Any]) -> str:
        if not isinstance(descriptor, kind):
            raise StateError(f"a {kind.__name__} was expected, got {descriptor!r}")
        if descriptor.time_to_live is not None:
            raise StateError(f"operator state '{descriptor.name}' has no time to live: only keyed state expires")
        if descriptor.name in others:
            raise StateError(
                f"operator '{self._uid}' uses the name '{descriptor.name}' for list state and for union list state; "
                "give them different names"
            )
        return descriptor.name

    def _changed_mode(self, name: str, saved: str, asked: str) -> StateError:
        return StateError(
            f"operator state '{name}' of operator '{self._uid}' was saved as {saved} and is now asked for as {asked}; "
            "ask for what it is, or give it another name"
        )
