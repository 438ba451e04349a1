"""`Savepoint`: read, made, changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from penstock.common import Types
from penstock.common.errors import ArgumentError, StateError
from penstock.state import ListStateDescriptor, MapStateDescriptor, Savepoint, StateTtlConfig, ValueStateDescriptor


@dataclass
class Account:
    count: int
    name: str | None = None


COUNT = ValueStateDescriptor("count", Types.LONG())
COUNTS = [{"user": "ada", "n": 3}, {"user": "bob", "n": 5}]


def rows(savepoint: Savepoint, uid: str = "counter", name: str = "count") -> list[tuple[Any, Any]]:
    table = savepoint.read(uid, name)
    return sorted(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))


def new() -> Savepoint:
    return Savepoint.new("job").with_state("counter", COUNT, COUNTS, key="user", value="n")


@pytest.mark.parametrize(
    "data", [COUNTS, pd.DataFrame(COUNTS), pa.Table.from_pylist(COUNTS)], ids=lambda d: type(d).__name__
)
def test_state_is_made_of_tables(data: Any, tmp_path: Path) -> None:
    made = Savepoint.new("job").with_state("counter", COUNT, data, key="user", value="n")
    written = made.write(str(tmp_path / "savepoint"))
    loaded = Savepoint.load(written.path)
    assert rows(made) == rows(written) == rows(loaded) == [("ada", 3), ("bob", 5)]
    assert loaded.uids == ["counter"]
    (state,) = loaded.states
    assert (state.uid, state.name, state.kind, state.type, state.rows) == ("counter", "count", "ValueState", "Long", 2)
    assert pd.read_parquet(loaded.state_path("counter", "count"))["value"].sum() == 8


def test_values_with_fields_lists_and_maps() -> None:
    accounts = ValueStateDescriptor("account", Account)
    by_field = Savepoint.new().with_state(
        "a", accounts, [{"k1": 1, "k2": "x", "count": 2, "name": None}], key=["k1", "k2"]
    )
    assert by_field.read("a", "account").drop_columns(["key_group"]).to_pylist() == [
        {"key_0": 1, "key_1": "x", "value": {"count": 2, "name": None}}
    ]
    whole = Savepoint.new().with_state("a", accounts, [{"key": 1, "value": Account(2, "n")}], value="value")
    assert whole.read_pandas("a", "account")["value"].tolist() == [{"count": 2, "name": "n"}]
    lists = [{"key": 1, "value": 5}, {"key": 2, "value": 7}, {"key": 1, "value": 6}]
    made = Savepoint.new().with_state("l", ListStateDescriptor("l", int), lists)
    found = made.read("l", "l").to_pylist()
    assert sorted((row["key"], row["position"], row["value"]) for row in found) == [(1, 0, 5), (1, 1, 6), (2, 0, 7)]
    maps = MapStateDescriptor("m", Types.STRING(), Types.DOUBLE())
    made = Savepoint.new().with_state("m", maps, [{"key": 1, "of": "x", "value": 1}], map_key="of")
    assert made.read("m", "m")["map_key"].to_pylist() == ["x"]
    assert made.read("m", "m")["value"].to_pylist() == [1.0]


def test_rows_that_do_not_fit_are_named() -> None:
    with pytest.raises(ArgumentError, match=r"row 1 .*is not an int"):
        Savepoint.new().with_state("c", COUNT, [{"key": 1, "value": 1}, {"key": 2, "value": "x"}])
    with pytest.raises(ArgumentError, match="another row has the same key"):
        Savepoint.new().with_state("c", COUNT, [{"key": 1, "value": 1}, {"key": 1, "value": 2}])
    with pytest.raises(ArgumentError, match=r"row 0 .*'n'"):
        Savepoint.new().with_state("c", COUNT, [{"key": 1}], value="n")
    with pytest.raises(ArgumentError, match="map_key"):
        Savepoint.new().with_state("c", MapStateDescriptor("m"), [])
    with pytest.raises(ArgumentError, match="is no table"):
        Savepoint.new().with_state("c", COUNT, 7)
    with pytest.raises(ArgumentError, match="descriptor"):
        Savepoint.new().with_state("c", "count", [])  # type: ignore[arg-type]
    expiring = ValueStateDescriptor("v", int)
    expiring.enable_time_to_live(StateTtlConfig.new_builder("1 h").build())
    with pytest.raises(ArgumentError, match="time to live"):
        Savepoint.new().with_state("c", expiring, [])


def test_state_is_changed_and_dropped(tmp_path: Path) -> None:
    savepoint = new().write(str(tmp_path / "first"))

    def doubled(table: pa.Table) -> pd.DataFrame:
        frame = table.to_pandas()
        frame["value"] *= 2
        return frame[frame["key"] != "bob"]

    changed = savepoint.change("counter", "count", doubled)
    assert rows(savepoint) == [("ada", 3), ("bob", 5)]
    assert rows(changed) == [("ada", 6)]
    with pytest.raises(StateError, match="write the savepoint first"):
        changed.state_path("counter", "count")
    again = changed.write(str(tmp_path / "second"))
    assert rows(Savepoint.load(again.path)) == [("ada", 6)]
    dropped = again.drop("counter", "count")
    assert dropped.states == ()
    assert dropped.uids == ["counter"]
    assert dropped.drop("counter").uids == []
    with pytest.raises(ArgumentError, match="columns"):
        savepoint.change("counter", "count", lambda table: table.select(["key"]))
    with pytest.raises(ArgumentError, match="same key"):
        savepoint.change("counter", "count", lambda table: pa.concat_tables([table, table]))


def test_an_operator_gets_another_uid(tmp_path: Path) -> None:
    renamed = new().rename_uid("counter", "other")
    assert rows(renamed, "other") == [("ada", 3), ("bob", 5)]
    loaded = Savepoint.load(renamed.write(str(tmp_path / "s")).path)
    assert rows(loaded, "other") == [("ada", 3), ("bob", 5)]
    assert loaded.uids == ["other"]
    with pytest.raises(StateError, match="no operator with uid 'counter'"):
        renamed.rename_uid("counter", "x")
    with pytest.raises(StateError, match="already"):
        renamed.with_state("b", COUNT, []).rename_uid("b", "other")


def test_what_is_not_there_is_named_with_what_is() -> None:
    savepoint = new()
    with pytest.raises(StateError, match="operator 'counter' has no state 'total'; it has: count"):
        savepoint.read("counter", "total")
    with pytest.raises(StateError, match="no state of an operator with uid 'x'; operators with state: counter"):
        savepoint.read("x", "count")
    with pytest.raises(StateError, match="no operator"):
        savepoint.drop("x")
    assert len(savepoint.timers("counter")) == 0
    assert len(savepoint.offsets()) == 0


def test_a_directory_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StateError, match="not empty"):
        new().write(str(tmp_path))
    with pytest.raises(StateError, match="there is no savepoint in"):
        Savepoint.load(str(tmp_path))


def test_python_objects_stay_bytes_unless_asked_for() -> None:
    made = Savepoint.new().with_state("o", ValueStateDescriptor("o"), [{"key": 1, "value": {"a": {1}}}])
    assert isinstance(made.read("o", "o")["value"].to_pylist()[0], bytes)
    assert made.read_pandas("o", "o", unpickle=True)["value"].tolist() == [{"a": {1}}]
