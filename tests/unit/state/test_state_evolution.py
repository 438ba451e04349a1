"""State that was stored by an older program, asked for by a newer one."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from penstock.common import Row, Types
from penstock.common.errors import ArgumentError, StateError
from penstock.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
    encode_key,
    migrate,
)
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory import MemoryStore


@dataclass
class Account:
    name: str
    balance: int


@dataclass
class WiderAccount:
    """Fields in another order, one removed, two added, one wider."""

    balance: float
    owner: str = "nobody"
    tags: list[str] = field(default_factory=list)


@dataclass
class NoDefault:
    name: str
    balance: int
    owner: str


class Point(NamedTuple):
    x: int
    y: int = 7


OldPoint = namedtuple("OldPoint", ["x"])


def backend(store: MemoryStore) -> KeyedStateBackend:
    return KeyedStateBackend(store, "op", 128, clock=lambda: 1000)


def stored(descriptor: Any, write: Any) -> MemoryStore:
    store = MemoryStore()
    state = backend(store)
    state.current_key = encode_key("k")
    write(state.get_partitioned_state(descriptor))
    state.flush()
    state.catalogue.flush()
    return store


def value_after(old: Any, value: Any, new: ValueStateDescriptor) -> Any:
    store = stored(old, lambda state: state.update(value))
    state = backend(store)
    handle = state.get_state(new)
    state.current_key = encode_key("k")
    return handle.value()


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        (Types.INT(), 7, Types.LONG()),
        (Types.BYTE(), 7, Types.BIG_INT()),
        (Types.INT(), 7, Types.DOUBLE()),
        (Types.FLOAT(), 0.1, Types.DOUBLE()),
        (Types.CHAR(), "x", Types.STRING()),
        (Types.LIST(Types.INT()), [1, None], Types.LIST(Types.LONG())),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1}, Types.MAP(Types.STRING(), Types.LONG())),
        (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "a"), Types.TUPLE([Types.LONG(), Types.STRING()])),
    ],
)
def test_wider_types(old: Any, value: Any, new: Any) -> None:
    found = value_after(ValueStateDescriptor("s", old), value, ValueStateDescriptor("s", new))
    assert found == value
    assert type(found) is (float if new == Types.DOUBLE() else type(value))


def test_fields_of_a_class_come_and_go() -> None:
    old, new = ValueStateDescriptor("s", Account), ValueStateDescriptor("s", WiderAccount)
    found = value_after(old, Account("ada", 5), ValueStateDescriptor("s", Account))
    assert found == Account("ada", 5)
    with pytest.raises(StateError, match=r"field 'balance'.*stored as Long, declared as Double"):
        value_after(old, Account("ada", 5), new)
    old = ValueStateDescriptor("s", Types.ROW_NAMED(["name", "balance"], [Types.STRING(), Types.INT()]))
    assert value_after(old, Row(name="ada", balance=5), new) == WiderAccount(5.0)


def test_a_row_gets_none_and_a_named_tuple_its_default() -> None:
    old = ValueStateDescriptor("s", Types.ROW_NAMED(["x"], [Types.INT()]))
    wider = Types.ROW_NAMED(["x", "y"], [Types.LONG(), Types.STRING()])
    assert value_after(old, Row(x=1), ValueStateDescriptor("s", wider)) == Row(x=1, y=None)
    assert value_after(old, Row(x=1), ValueStateDescriptor("s", Point)) == Point(1, 7)


def test_a_new_field_without_a_default_is_refused() -> None:
    with pytest.raises(StateError, match=r"new field 'owner' of NoDefault has no default"):
        value_after(ValueStateDescriptor("s", Account), Account("a", 1), ValueStateDescriptor("s", NoDefault))


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        (Types.LONG(), 7, Types.INT()),
        (Types.LONG(), 7, Types.STRING()),
        (Types.DOUBLE(), 7.0, Types.LONG()),
        (None, 7, Types.LONG()),
        (Types.TUPLE([Types.INT()]), (1,), Types.TUPLE([Types.INT(), Types.INT()])),
        (Types.MAP(Types.INT(), Types.INT()), {1: 1}, Types.MAP(Types.STRING(), Types.INT())),
    ],
)
def test_what_does_not_fit_is_refused_with_both_types(old: Any, value: Any, new: Any) -> None:
    with pytest.raises(StateError, match=r"state 's' of operator 'op' does not fit the program: .*@migrate"):
        value_after(ValueStateDescriptor("s", old), value, ValueStateDescriptor("s", new))


def test_another_kind_of_state_is_refused() -> None:
    store = stored(ValueStateDescriptor("s", int), lambda state: state.update(1))
    with pytest.raises(StateError, match="stored as a value, asked for as a list"):
        backend(store).get_list_state(ListStateDescriptor("s", int))


def test_without_entries_anything_goes() -> None:
    store = stored(ValueStateDescriptor("s", int), lambda state: None)
    backend(store).get_list_state(ListStateDescriptor("s", str))


def test_lists_and_maps_are_changed_by_element() -> None:
    store = stored(ListStateDescriptor("s", Types.INT()), lambda state: state.update([1, 2, 3]))
    state = backend(store)
    state.current_key = encode_key("k")
    assert list(state.get_list_state(ListStateDescriptor("s", Types.LONG())).get()) == [1, 2, 3]
    store = stored(MapStateDescriptor("s", Types.STRING(), Types.INT()), lambda state: state.put("a", 1))
    state = backend(store)
    state.current_key = encode_key("k")
    assert state.get_map_state(MapStateDescriptor("s", Types.STRING(), Types.LONG())).items() == [("a", 1)]


def test_values_with_a_time_to_live_keep_their_last_use() -> None:
    def descriptor(kind: Any, type_info: Any) -> Any:
        made = kind("s", type_info)
        made.enable_time_to_live(StateTtlConfig.new_builder("1 h").build())
        return made

    store = stored(descriptor(ListStateDescriptor, Types.INT()), lambda state: state.update([1, 2]))
    state = backend(store)
    state.current_key = encode_key("k")
    handle = state.get_list_state(descriptor(ListStateDescriptor, Types.LONG()))
    assert handle.get() == [1, 2]
    assert (
        value_after(descriptor(ValueStateDescriptor, Types.INT()), 3, descriptor(ValueStateDescriptor, Types.LONG()))
        == 3
    )


@migrate(1, 2)
def in_cents(old: float) -> int:
    return round(old * 100)


@migrate(2, 4)
def with_currency(old: int) -> Account:
    return Account("EUR", old)


def test_migrations_are_called_one_after_the_other() -> None:
    old = ValueStateDescriptor("s", Types.DOUBLE())
    assert value_after(old, 1.5, ValueStateDescriptor("s", int).with_version(2, in_cents)) == 150
    newest = ValueStateDescriptor("s", Account).with_version(4, in_cents, with_currency)
    assert value_after(old, 1.5, newest) == Account("EUR", 150)
    second = ValueStateDescriptor("s", int).with_version(2)
    assert value_after(second, 150, newest) == Account("EUR", 150)


def test_a_migration_is_given_rows_and_may_read_python_objects() -> None:
    @migrate(1, 2)
    def total(old: Any) -> int:
        assert isinstance(old, Row)
        return old.balance + len(old.name)

    @migrate(1, 2)
    def unpickled(old: Any) -> int:
        return len(old)

    old = ValueStateDescriptor("s", Account)
    assert value_after(old, Account("ada", 5), ValueStateDescriptor("s", int).with_version(2, total)) == 8
    assert (
        value_after(ValueStateDescriptor("s"), {1, 2}, ValueStateDescriptor("s", int).with_version(2, unpickled)) == 2
    )


def test_versions_without_a_way_between_them_are_refused() -> None:
    old = ValueStateDescriptor("s", Types.DOUBLE())
    with pytest.raises(StateError, match=r"version 1, declared in version 3.*\(1 to 2\) do not lead there"):
        value_after(old, 1.5, ValueStateDescriptor("s", int).with_version(3, in_cents))
    newer = ValueStateDescriptor("s", int).with_version(2)
    with pytest.raises(StateError, match="version 2, declared in version 1"):
        value_after(newer, 1, ValueStateDescriptor("s", int))


def test_what_is_no_migration_is_refused() -> None:
    with pytest.raises(ArgumentError, match="newer"):
        migrate(2, 1)
    with pytest.raises(ArgumentError, match="@migrate"):
        ValueStateDescriptor("s", int).with_version(2, len)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="leads to version 4"):
        ValueStateDescriptor("s", int).with_version(3, with_currency)
    with pytest.raises(ArgumentError, match="several"):
        ValueStateDescriptor("s", int).with_version(2, in_cents, in_cents)


def test_a_migration_that_fails_names_the_state() -> None:
    @migrate(1, 2)
    def broken(old: Any) -> int:
        return old.missing

    with pytest.raises(StateError, match="state 's' of operator 'op' cannot be migrated: AttributeError"):
        value_after(ValueStateDescriptor("s", int), 1, ValueStateDescriptor("s", int).with_version(2, broken))
