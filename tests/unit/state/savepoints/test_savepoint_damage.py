"""Damaged and forged savepoints: an error that names the file, and nothing that was in them is run."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.errors import CheckpointError, PenstockError, StateCorruptionError, StateError
from penstock.engine.epochs.job_snapshot import SavepointSnapshot
from penstock.state import ListStateDescriptor, MapStateDescriptor, Savepoint, ValueStateDescriptor
from penstock.state.plain_values import plain_from_bytes, plain_to_bytes
from penstock.state.savepoints.header import file_digest
from penstock.state.storage import open_storage

ran: list[str] = []


class Evil:
    def __reduce__(self) -> Any:
        return ran.append, ("it ran",)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Savepoint.new("job").with_state(
        "counter", ValueStateDescriptor("count", Types.LONG()), [{"key": f"k{n}", "value": n} for n in range(20)]
    )
    made = made.with_state("lists", ListStateDescriptor("l", Types.STRING()), [{"key": 1, "value": "a"}])
    entries = [{"key": (1, "x"), "of": "m", "value": (1, "a")}]
    pair = Types.TUPLE([Types.INT(), Types.STRING()])
    made = made.with_state("maps", MapStateDescriptor("m", Types.STRING(), pair), entries, map_key="of", value="value")
    return Path(made.write(str(tmp_path_factory.mktemp("savepoint") / "whole")).path)


@contextmanager
def copied(whole: Path, tmp_path: Path) -> Iterator[Path]:
    target = tmp_path / "copy"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(whole, target)
    yield target


def read_all(path: Path) -> None:
    """Reads whatever a restore reads."""
    snapshot = SavepointSnapshot(open_storage(str(path)))
    for _ in snapshot.entries({each.uid: each.max_parallelism for each in snapshot.header.operators}):
        pass
    savepoint = Savepoint.load(str(path))
    for state in savepoint.states:
        savepoint.read(state.uid, state.name)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_changed_or_cut_file_is_noticed(whole: Path, tmp_path: Path, data: st.DataObject) -> None:
    with copied(whole, tmp_path) as copy:
        files = sorted(path for path in copy.rglob("*") if path.is_file())
        file = data.draw(st.sampled_from(files))
        content = file.read_bytes()
        place = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            damaged = content[:place]
        else:
            damaged = content[:place] + bytes([content[place] ^ data.draw(st.integers(1, 255))]) + content[place + 1 :]
        if damaged.rstrip(b"\n") == content.rstrip(b"\n"):
            return
        file.write_bytes(damaged)
        with pytest.raises(StateError, match=str(file.relative_to(copy)).split("/")[-1].replace(".", r"\.")):
            read_all(copy)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_forged_header_is_refused_or_read_but_never_more(whole: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Someone who can write files can write checksums too: whatever they say, there is one of our errors, or none."""
    with copied(whole, tmp_path) as copy:
        file = copy / "savepoint.json"
        form = json.loads(file.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[0])
        parts: list[tuple[Any, Any]] = []
        collect(form, parts)
        where, key = data.draw(st.sampled_from(parts))
        junk = st.sampled_from(
            [None, -1, 1 << 70, "", "x", "../../etc/passwd", "/etc/passwd", [], {}, [1], {"a": 1}, True]
        )
        where[key] = data.draw(junk)
        body = json.dumps(form).encode()
        file.write_bytes(body + b"\n" + file_digest(body).encode() + b"\n")
        with suppress(PenstockError):
            read_all(copy)


def collect(form: Any, parts: list[tuple[Any, Any]]) -> None:
    for key, value in list(form.items()) if isinstance(form, dict) else list(enumerate(form)):
        parts.append((form, key))
        if isinstance(value, dict | list):
            collect(value, parts)


def test_paths_do_not_leave_the_directory(whole: Path, tmp_path: Path) -> None:
    for path in ("../whole/savepoint.json", "/etc/passwd"):
        with copied(whole, tmp_path) as copy:
            file = copy / "savepoint.json"
            text = file.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[0].decode()
            form = json.loads(text)
            form["states"][0]["files"][0]["path"] = path
            body = json.dumps(form).encode()
            file.write_bytes(body + b"\n" + file_digest(body).encode() + b"\n")
            with pytest.raises(CheckpointError, match="leaves the checkpoint directory"):
                read_all(copy)


def test_a_newer_format_is_refused_with_both_versions(whole: Path, tmp_path: Path) -> None:
    with copied(whole, tmp_path) as copy:
        file = copy / "savepoint.json"
        body = file.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[0].replace(b'"version": 1', b'"version": 2')
        form = json.loads(body)
        form["version"] = 2
        body = json.dumps(form).encode()
        file.write_bytes(body + b"\n" + file_digest(body).encode() + b"\n")
        with pytest.raises(StateError, match=r"format version 2; this Penstock reads up to 1"):
            Savepoint.load(str(copy))


def test_pickles_in_values_of_declared_types_do_not_run() -> None:
    ran.clear()
    with pytest.raises(StateCorruptionError, match=r"names builtins.getattr|names .*append|no plain value"):
        plain_from_bytes(pickle.dumps(Evil(), 5))
    with pytest.raises(StateCorruptionError):
        plain_from_bytes(b"cos\nsystem\n(S'true'\ntR.")
    assert ran == []


@given(st.binary(max_size=60))
def test_any_bytes_are_a_plain_value_or_an_error_of_ours(data: bytes) -> None:
    with suppress(StateCorruptionError):
        plain_from_bytes(data)


plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(), st.dates()),
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.text(), inner), st.lists(inner).map(tuple)
    ),
)


@given(plain)
def test_plain_values_come_back(value: Any) -> None:
    assert plain_from_bytes(plain_to_bytes(value)) == value
