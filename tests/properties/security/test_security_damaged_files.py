"""Whatever is in the files of a checkpoint: reading them gives what was written, or an error of ours; no code runs."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.codecs import codec_for
from penstock.common.errors import PenstockError
from penstock.common.typeinfo import Types
from penstock.connectors.staged_records import unpack_records
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.epochs.manifest import Manifest, manifest_from_bytes
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.engine.epochs.plan_description import read_plan
from penstock.engine.epochs.replay_records import read_failed_epoch
from penstock.state.index import read_all_heads, read_head, write_index
from penstock.state.memory import MemoryStore
from penstock.state.savepoints.header import OperatorDescription
from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_files import bring_to, live_files, write_delta
from penstock.state.storage import LocalCheckpointStorage, content_hash
from penstock.state.value_serializers import serializer_for
from properties.security.damage import damage

MANIFEST = Manifest(
    number=3, kind="epoch", job_id="j", job_name="job", incarnation=1, token="t", parent="p", fingerprint="f", plan={}
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> LocalCheckpointStorage:
    return LocalCheckpointStorage(str(tmp_path_factory.mktemp("damaged")))


@contextmanager
def refused_or_right(named: str) -> Iterator[None]:
    """What happens here ends well, or with an error of ours that names the file."""
    try:
        yield
    except PenstockError as error:
        if named not in str(error):
            raise


def overwritten(storage: LocalCheckpointStorage, path: str, content: bytes) -> None:
    storage.resolve(path).write_bytes(content)


@given(damage())
def test_a_damaged_manifest_is_refused(apply: Callable[[bytes], bytes]) -> None:
    original = MANIFEST.to_bytes()
    damaged = apply(original)
    with refused_or_right("here"):
        assert manifest_from_bytes(damaged, "here") == MANIFEST
        assert damaged.rstrip(b"\n") == original.rstrip(b"\n")


def sealed(body: bytes) -> bytes:
    """With the checksum of a manifest: what somebody writes who knows the format."""
    return body + b"\n" + hashlib.blake2b(body, digest_size=16).hexdigest().encode() + b"\n"


@given(st.dictionaries(st.sampled_from([*asdict(MANIFEST), "other"]), json_values, max_size=4))
def test_a_forged_manifest_is_refused_or_whole(changes: dict[str, Any]) -> None:
    body = json.dumps({**asdict(MANIFEST), **changes}).encode()
    with refused_or_right("here"):
        manifest = manifest_from_bytes(sealed(body), "here")
        assert all(type(getattr(manifest, name)) in (str, type(None)) for name in ("index", "driver_head", "tokens"))


@given(json_values)
def test_any_json_in_the_place_of_a_manifest_is_refused(value: Any) -> None:
    with pytest.raises(PenstockError, match="here"):
        manifest_from_bytes(sealed(json.dumps(value).encode()), "here")


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "state/../../outside", "a/../../b"])
@pytest.mark.parametrize("read", ["read", "read_verified", "exists", "list", "delete", "resolve"])
def test_paths_that_leave_the_directory_are_refused(tmp_path: Path, path: str, read: str) -> None:
    storage = LocalCheckpointStorage(str(tmp_path / "checkpoint"))
    (tmp_path / "outside").write_text("secret")
    with pytest.raises(PenstockError, match="leaves the checkpoint directory"):
        getattr(storage, read)(path)


def state_file(storage: LocalCheckpointStorage) -> str:
    entries = SortedEntries.of_sorted([(f"key-{n}".encode(), b"v" * n) for n in range(20)])
    return write_delta(storage, "state/1/7-1-0", entries, None, (1, 7))


@given(damage())
def test_a_damaged_state_file_is_refused(storage: LocalCheckpointStorage, apply: Callable[[bytes], bytes]) -> None:
    path = state_file(storage)
    original = storage.read(path)
    overwritten(storage, path, apply(original))
    store = MemoryStore()
    try:
        with refused_or_right(path):
            bring_to(store, path, storage)
            assert apply(original) == original
    finally:
        overwritten(storage, path, original)


@given(st.binary(max_size=60), st.dictionaries(st.text(max_size=8), json_values, max_size=3), st.booleans())
def test_a_forged_state_file_is_refused(
    storage: LocalCheckpointStorage, body: bytes, changes: dict[str, Any], known: bool
) -> None:
    """Its hash fits its name: somebody who knows the format has written it."""
    header = {
        "kind": "delta", "parent": None, "incarnation": 1, "epoch": 7, "entries": 3, "chain": 1, "delta_bytes": 9,
        "snapshot_bytes": 0,
    }  # fmt: skip
    names = [*header] if known else [*changes]
    changed = {**header, **dict(zip(names, changes.values(), strict=False))}
    text = json.dumps(changed).encode()
    content = b"PENSTATE" + (1).to_bytes(2, "little") + len(text).to_bytes(4, "little") + text + body
    path = f"state/1/7-1-0-{content_hash(content)}"
    storage.resolve("state/1").mkdir(parents=True, exist_ok=True)
    overwritten(storage, path, content)
    try:
        with suppress(PenstockError):
            bring_to(MemoryStore(), path, storage)
            live_files(storage, [path])
    finally:
        storage.delete(path)


@given(damage(), st.integers(0, 3), st.integers(0, 5))
def test_a_damaged_index_is_refused(
    storage: LocalCheckpointStorage, apply: Callable[[bytes], bytes], stage: int, subtask: int
) -> None:
    heads = {(stage, n): f"state/1/7-{stage}-{n}-{'ab' * 16}" for stage in (1, 2) for n in range(3)}
    path = write_index(storage, "index/1/7", heads)
    original = storage.read(path)
    overwritten(storage, path, apply(original))
    try:
        with refused_or_right(path):
            assert read_head(storage, path, stage, subtask) == heads.get((stage, subtask))
            assert read_all_heads(storage, path) == heads
    finally:
        overwritten(storage, path, original)


@given(json_values, st.sampled_from(["header", "report", "tasks", "format", None]))
def test_a_forged_record_of_a_failure_is_refused(
    storage: LocalCheckpointStorage, value: Any, field: str | None
) -> None:
    path = "failures/00000000000000000007-000000.json"
    record = {
        "format": 1,
        "report": {"error_type": "E", "message": "m", "traceback": "t"},
        "header": {
            "job_id": "j", "epoch": [1, 7], "run": 0, "now": 1, "index": None, "ended_sources": [],
            "budget": {"max_records": 1, "max_bytes": 1, "parallelism": 1}, "bounded": False, "union_lists": {},
        },
        "tasks": [[]],
    }  # fmt: skip
    storage.resolve("failures").mkdir(exist_ok=True)
    overwritten(storage, path, json.dumps(value if field is None else {**record, field: value}).encode())
    try:
        with refused_or_right(path):
            assert read_failed_epoch(storage, 7) is not None
    finally:
        storage.delete(path)


class Trap:
    """Unpickling it leaves a trace."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


DECLARED = {
    "number": Types.LONG(),
    "text": Types.STRING(),
    "bytes": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "decimal": Types.BIG_DEC(),
    "time": Types.SQL_TIMESTAMP(),
    "tuple": Types.TUPLE([Types.LONG(), Types.STRING()]),
    "row": Types.ROW_NAMED(["a"], [Types.LONG()]),
    "list": Types.LIST(Types.LONG()),
    "map": Types.MAP(Types.STRING(), Types.LONG()),
}


@pytest.mark.parametrize("name", DECLARED)
def test_state_of_a_declared_type_is_never_unpickled(tmp_path: Path, name: str) -> None:
    serializer = serializer_for(DECLARED[name])
    trace = tmp_path / "trace"
    trap = pickle.dumps(Trap(str(trace)), protocol=5)
    for read, data in (
        (serializer.loads, b"\x01" + trap),
        (serializer.loads_many, trap),
        (serializer.loads_many, len(trap).to_bytes(4, "little") + b"\x01" + trap),
    ):
        with suppress(Exception):
            read(data)
    assert not trace.exists()


def test_staged_records_of_a_declared_type_are_never_unpickled(tmp_path: Path) -> None:
    trap = b"P" + pickle.dumps([Trap(str(tmp_path / "trace"))], protocol=5)
    with pytest.raises(PenstockError, match="pickled objects instead"):
        unpack_records(trap, codec_for(Types.ROW_NAMED(["a"], [Types.LONG()])))
    assert not (tmp_path / "trace").exists()


@given(st.binary(max_size=80))
def test_driver_state_that_is_no_json_is_no_code_either(storage: LocalCheckpointStorage, value: bytes) -> None:
    entries = SortedEntries.of_sorted([(b"source/x\x00position", value)])
    head = write_delta(storage, "state/1/9-0-0", entries, None, (1, 9))
    state = DriverState(storage, head)
    with suppress(PenstockError, ValueError):
        state.namespace("source/x")["position"]


def test_files_of_others_in_the_directory_do_no_harm(tmp_path: Path) -> None:
    storage = LocalCheckpointStorage(str(tmp_path))
    log = ManifestLog(storage, "driver")
    log.take_over(MANIFEST)
    numbers = log.numbers()
    for name in ("manifests/notes.txt", "manifests/a.json", "manifests/1.json.bak"):
        storage.resolve(name).write_text("x")
    assert log.numbers() == numbers
    assert log.read_newest() is not None


PLAN = [
    asdict(OperatorDescription("source", source="Numbers", level=0)),
    asdict(OperatorDescription("sum", edges=({"number": 0, "from": "source", "input": 0, "side_output": None},))),
]


@given(damage())
def test_a_damaged_plan_is_refused(storage: LocalCheckpointStorage, apply: Callable[[bytes], bytes]) -> None:
    original = json.dumps(PLAN).encode()
    path = storage.write_staged("plans/plan", original)
    overwritten(storage, path, apply(original))
    try:
        with refused_or_right(path):
            assert read_plan(storage, replace(MANIFEST, plan_path=path)) == read_plan_of(PLAN)
    finally:
        storage.delete(path)


@given(st.sampled_from([*PLAN[0]]), json_values, json_values)
def test_a_forged_plan_is_refused_or_describes_operators(
    storage: LocalCheckpointStorage, field: str, value: Any, other: Any
) -> None:
    """Its hash fits its name: somebody who knows the format has written it."""
    for form in ([{**PLAN[0], field: value}, PLAN[1]], [PLAN[0], other], other):
        path = storage.write_staged("plans/plan", json.dumps(form).encode())
        with suppress(PenstockError):
            for operator in read_plan(storage, replace(MANIFEST, plan_path=path)):
                assert isinstance(operator.uid, str)
                assert 1 <= operator.parallelism <= operator.max_parallelism


def read_plan_of(form: list[dict[str, Any]]) -> tuple[OperatorDescription, ...]:
    return tuple(OperatorDescription(**each | {"edges": tuple(each["edges"])}) for each in form)
