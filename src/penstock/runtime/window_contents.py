"""What is in the windows of each key: all records, or what was made of them so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.functions.adapt import reduce_callable
from penstock.runtime.operator import OperatorContext
from penstock.runtime.window_state_form import CONTENTS
from penstock.state.catalogue import StateCatalogue
from penstock.state.descriptors import StateDescriptor
from penstock.state.handle import DEFAULT_CACHE_LIMIT
from penstock.state.list_handle import CachedList, ListHandle
from penstock.state.namespaced_keys import NamespacedKeys
from penstock.state.own_copy import own_copy
from penstock.state.state_keys import StateKeys
from penstock.state.store import StateStore
from penstock.state.value_handles import ValueHandle
from penstock.state.value_serializers import serializer_for
from penstock.windows.assigner import WindowAssigner, is_known
from penstock.windows.definition import WindowDefinition
from penstock.windows.session import are_plain_sessions
from penstock.windows.tumbling import TumblingWindows


class _Place:
    """The key and window that handles work on."""

    current_key: bytes | None = None


class WindowValue(ValueHandle):
    """One value per key and window. Windows come and go: what goes leaves no trace in memory or in the delta."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._fresh: set[bytes | None] = set()
        """Where the store has nothing."""
        self._removed: list[bytes | None] = []

    def remove(self) -> None:
        """Removes the value."""
        key = self._owner.current_key
        self.value()
        if key in self._fresh:
            self._fresh.discard(key)
            self._cache.pop(key, None)
            self._dirty.pop(key, None)  # type: ignore[arg-type]
        else:
            self.clear()
            self._removed.append(key)

    def begin(self, key: bytes) -> None:
        """The store has nothing of a key and window: it need not be asked."""
        if key not in self._cache:
            self._cache[key] = None
            self._fresh.add(key)

    def put(self, key: bytes, value: Any) -> None:
        """Sets what a key and window has; it is what `kept` makes of a value."""
        self._cache[key] = value
        self._dirty[key] = None

    def flush(self) -> None:
        """Writes what was set since the last time to the store."""
        super().flush()
        for key in self._removed:
            self._cache.pop(key, None)
        self._removed.clear()
        self._fresh.clear()

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        super().drop_caches()
        self._removed.clear()
        self._fresh.clear()

    def _load(self) -> Any:
        value = super()._load()
        if value is None:
            self._fresh.add(self._owner.current_key)
        return value


class WindowList(ListHandle):
    """A list per key and window; its elements are not copied."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._removed: list[bytes | None] = []

    def append(self, value: Any) -> int:
        """Adds an element; returns how many there are now."""
        elements = self._changing().elements
        elements.append(self.kept(value))
        return len(elements)

    def kept(self, value: Any) -> Any:
        """The element as the state would give it back."""
        return value if type(value) is self._expected else self._serializer.convert(value)

    def begin(self, key: bytes) -> None:
        """The store has nothing of a key and window: it need not be asked."""
        if key not in self._cache:
            self._cache[key] = CachedList([], [])
            self._size += 1

    @property
    def elements(self) -> list[Any]:
        """The elements, not to be changed."""
        return self._current().elements

    def replace(self, elements: list[Any]) -> None:
        """Sets all elements."""
        cached = self._changing()
        cached.elements = elements
        cached.part_sizes = []

    def remove(self) -> None:
        """Removes all elements."""
        key = self._owner.current_key
        cached: CachedList = self._current()
        if cached.stored_parts:
            self.replace([])
            self._removed.append(key)
        else:
            self._cache.pop(key, None)
            self._dirty.pop(key, None)  # type: ignore[arg-type]

    def flush(self) -> None:
        """Writes what was set since the last time to the store."""
        super().flush()
        for key in self._removed:
            self._cache.pop(key, None)
        self._removed.clear()

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        super().drop_caches()
        self._removed.clear()


class WindowsOfKeys:
    """Which windows of each key are open, where windows merge: one value per key, not to be copied."""

    def __init__(self, context: OperatorContext, name: str, value_type: TypeInformation) -> None:
        self._place = _Place()
        keys = StateKeys(context.uid, name, context.max_parallelism)
        self.catalogue = StateCatalogue(context.store, context.uid)
        self.catalogue.add(StateDescriptor(name, value_type), "ValueState")
        serializer = serializer_for(value_type)
        self._values = WindowValue(name, self._place, context.store, keys, DEFAULT_CACHE_LIMIT, serializer)

    def get(self, key: bytes) -> Any:
        """What is open; None when nothing is."""
        self._place.current_key = key
        return self._values.value()

    def put(self, key: bytes, value: Any) -> None:
        """Sets what is open; nothing removes it."""
        self._place.current_key = key
        if value:
            self._values.update(value)
        else:
            self._values.remove()

    def flush(self) -> None:
        """Writes what was set since the last time to the store."""
        self._values.flush()

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        self._values.drop_caches()


class WindowContents(ABC):
    """The contents of windows; `at` names the key and the window."""

    catalogue: StateCatalogue

    @abstractmethod
    def add(self, at: bytes, value: Any) -> bool:
        """Adds a record; True when it is the first one."""

    @abstractmethod
    def inputs(self, at: bytes) -> list[Any] | None:
        """What the window function gets, in a list of its own; None when there is nothing."""

    @abstractmethod
    def begin(self, at: bytes) -> None:
        """The store has nothing there: it need not be asked."""

    @abstractmethod
    def folded(self, content: Any, value: Any) -> Any:
        """What a window has, kept outside of the state, with a record added; None stands for nothing yet."""

    @abstractmethod
    def inputs_of(self, content: Any) -> list[Any] | None:
        """What the window function gets of something that was kept outside; None when that is nothing."""

    @abstractmethod
    def put(self, at: bytes, content: Any) -> None:
        """Keeps what was outside; there is nothing yet."""

    @abstractmethod
    def take(self, at: bytes) -> list[Any] | None:
        """The same as `inputs`, and removes everything."""

    @abstractmethod
    def remove(self, at: bytes) -> None:
        """Removes everything."""

    @abstractmethod
    def merge(self, at: bytes, others: Sequence[bytes]) -> None:
        """Moves the contents of other windows here."""

    @abstractmethod
    def flush(self) -> None:
        """Writes what was set since the last time to the store."""

    @abstractmethod
    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""


class ReducedContents(WindowContents):
    """All records, reduced to one."""

    def __init__(self, store: StateStore, uid: str, max_parallelism: int, definition: WindowDefinition) -> None:
        self._reduce = reduce_callable(definition.reduce_function)
        # The program's function may change its first argument, and the record may be in other windows too.
        self._first = _same if _has_one_window(definition.assigner) else own_copy
        self._place = _Place()
        self._values = _value_handle(store, uid, max_parallelism, self._place, definition.element_type)
        self.catalogue = _catalogue(store, uid, definition.element_type)

    def add(self, at: bytes, value: Any) -> bool:
        """Reduces."""
        self._place.current_key = at
        values = self._values
        before = values.value()
        if before is None:
            values.update(self._first(value))
            return True
        values.update(self._reduce(before, value))
        return False

    def inputs(self, at: bytes) -> list[Any] | None:
        """The one value."""
        self._place.current_key = at
        value = self._values.value()
        return None if value is None else [own_copy(value)]

    def begin(self, at: bytes) -> None:
        """The store has nothing there."""
        self._values.begin(at)

    def folded(self, content: Any, value: Any) -> Any:
        """Reduces."""
        return self._values.kept(self._first(value) if content is None else self._reduce(content, value))

    def inputs_of(self, content: Any) -> list[Any] | None:
        """The one value."""
        return None if content is None else [content]

    def put(self, at: bytes, content: Any) -> None:
        """Keeps the value."""
        self._values.put(at, content)

    def take(self, at: bytes) -> list[Any] | None:
        """The one value, which is not kept."""
        self._place.current_key = at
        value = self._values.value()
        self._values.remove()
        return None if value is None else [value]

    def remove(self, at: bytes) -> None:
        """Removes the value."""
        self._place.current_key = at
        self._values.remove()

    def merge(self, at: bytes, others: Sequence[bytes]) -> None:
        """Reduces the values of the windows."""
        for value in _taken(self._values, self._place, others):
            self.add(at, value)

    def flush(self) -> None:
        """Writes what was set since the last time to the store."""
        self._values.flush()

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        self._values.drop_caches()


class AggregatedContents(WindowContents):
    """An accumulator of all records."""

    def __init__(self, store: StateStore, uid: str, max_parallelism: int, definition: WindowDefinition) -> None:
        self._function = definition.aggregate_function
        self._place = _Place()
        self._values = _value_handle(store, uid, max_parallelism, self._place, definition.accumulator_type)
        self.catalogue = _catalogue(store, uid, definition.accumulator_type)

    def add(self, at: bytes, value: Any) -> bool:
        """Adds to the accumulator."""
        self._place.current_key = at
        values = self._values
        accumulator = values.value()
        is_first = accumulator is None
        if is_first:
            accumulator = self._function.create_accumulator()
        values.update(self._function.add(value, accumulator))
        return is_first

    def inputs(self, at: bytes) -> list[Any] | None:
        """The one result."""
        self._place.current_key = at
        # What `get_result` returns may be a part of the accumulator.
        return self.inputs_of(own_copy(self._values.value()))

    def begin(self, at: bytes) -> None:
        """The store has nothing there."""
        self._values.begin(at)

    def folded(self, content: Any, value: Any) -> Any:
        """Adds to the accumulator."""
        accumulator = self._function.create_accumulator() if content is None else content
        return self._values.kept(self._function.add(value, accumulator))

    def inputs_of(self, content: Any) -> list[Any] | None:
        """The one result; nothing where the function has none: to Flink the window is empty then."""
        result = None if content is None else self._function.get_result(content)
        return None if result is None else [result]

    def put(self, at: bytes, content: Any) -> None:
        """Keeps the accumulator."""
        self._values.put(at, content)

    def take(self, at: bytes) -> list[Any] | None:
        """The one result; the accumulator is not kept."""
        self._place.current_key = at
        accumulator = self._values.value()
        self._values.remove()
        return self.inputs_of(accumulator)

    def remove(self, at: bytes) -> None:
        """Removes the accumulator."""
        self._place.current_key = at
        self._values.remove()

    def merge(self, at: bytes, others: Sequence[bytes]) -> None:
        """Merges the accumulators of the windows."""
        for accumulator in _taken(self._values, self._place, others):
            self._place.current_key = at
            here = self._values.value()
            self._values.update(accumulator if here is None else self._function.merge(here, accumulator))

    def flush(self) -> None:
        """Writes what was set since the last time to the store."""
        self._values.flush()

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        self._values.drop_caches()


class ListedContents(WindowContents):
    """All records, in the order in which they came."""

    def __init__(self, store: StateStore, uid: str, max_parallelism: int, element_type: TypeInformation | None) -> None:
        self._place = _Place()
        self._lists = WindowList(
            CONTENTS,
            self._place,
            store,
            NamespacedKeys(uid, CONTENTS, max_parallelism),
            DEFAULT_CACHE_LIMIT,
            serializer_for(element_type),
        )
        self.catalogue = _catalogue(store, uid, element_type, "ListState")

    def add(self, at: bytes, value: Any) -> bool:
        """Adds at the end."""
        self._place.current_key = at
        return self._lists.append(value) == 1

    def inputs(self, at: bytes) -> list[Any] | None:
        """The records."""
        self._place.current_key = at
        return list(self._lists.elements) or None

    def begin(self, at: bytes) -> None:
        """The store has nothing there."""
        self._lists.begin(at)

    def folded(self, content: Any, value: Any) -> Any:
        """Adds at the end."""
        elements = [] if content is None else content
        elements.append(self._lists.kept(value))
        return elements

    def inputs_of(self, content: Any) -> list[Any] | None:
        """The records."""
        return content

    def put(self, at: bytes, content: Any) -> None:
        """Keeps the records."""
        self.begin(at)
        self.replace(at, content)

    def take(self, at: bytes) -> list[Any] | None:
        """The records, which are not kept."""
        self._place.current_key = at
        elements = self._lists.elements
        self._lists.remove()
        return elements or None

    def replace(self, at: bytes, elements: list[Any]) -> None:
        """Sets all records."""
        self._place.current_key = at
        self._lists.replace(elements)

    def remove(self, at: bytes) -> None:
        """Removes the records."""
        self._place.current_key = at
        self._lists.remove()

    def merge(self, at: bytes, others: Sequence[bytes]) -> None:
        """Adds the records of the windows, in their order."""
        moved: list[Any] = []
        for other in others:
            moved += self.inputs(other) or ()
            self.remove(other)
        self._place.current_key = at
        for each in moved:
            self._lists.append(each)

    def flush(self) -> None:
        """Writes what was set since the last time to the store."""
        self._lists.flush()

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        self._lists.drop_caches()


def _has_one_window(assigner: WindowAssigner[Any, Any]) -> bool:
    """Whether no record is in more than one window."""
    return are_plain_sessions(assigner) or (isinstance(assigner, TumblingWindows) and is_known(assigner))


def _same(value: Any) -> Any:
    return value


def _value_handle(
    store: StateStore, uid: str, max_parallelism: int, place: _Place, value_type: TypeInformation | None
) -> WindowValue:
    keys = NamespacedKeys(uid, CONTENTS, max_parallelism)
    return WindowValue(CONTENTS, place, store, keys, DEFAULT_CACHE_LIMIT, serializer_for(value_type))


def _catalogue(
    store: StateStore, uid: str, value_type: TypeInformation | None, kind: str = "ValueState"
) -> StateCatalogue:
    catalogue = StateCatalogue(store, uid)
    catalogue.add(StateDescriptor(CONTENTS, value_type), kind, namespaced=True)
    return catalogue


def _taken(values: WindowValue, place: _Place, others: Sequence[bytes]) -> list[Any]:
    """Takes the values of some windows out."""
    taken: list[Any] = []
    for other in others:
        place.current_key = other
        value = values.value()
        if value is not None:
            taken.append(value)
            values.remove()
    return taken
