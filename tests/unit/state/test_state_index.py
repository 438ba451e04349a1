from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common.errors import StateCorruptionError, StateError
from penstock.state.index import read_all_heads, read_head, write_index
from penstock.state.storage import LocalCheckpointStorage


@pytest.fixture
def storage(tmp_path: Path) -> LocalCheckpointStorage:
    return LocalCheckpointStorage(str(tmp_path))


def head(stage: int, subtask: int) -> str:
    return f"state/3/{100 + subtask}-{stage}-{subtask}-{stage * 1000 + subtask:032x}"


def test_each_subtask_finds_its_head(storage: LocalCheckpointStorage) -> None:
    heads = {(stage, subtask): head(stage, subtask) for stage in (1, 2, 7) for subtask in (0, 1, 5)}
    path = write_index(storage, "index/3/100", heads)
    for stage in range(9):
        for subtask in range(7):
            assert read_head(storage, path, stage, subtask) == heads.get((stage, subtask))
    assert read_all_heads(storage, path) == heads


def test_a_task_reads_little_of_a_large_index(storage: LocalCheckpointStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_index(storage, "index", {(1, subtask): head(1, subtask) for subtask in range(5000)})
    read: list[int] = []
    real = storage.read_range
    monkeypatch.setattr(storage, "read_range", lambda *a: read.append(a[2]) or real(*a))
    monkeypatch.setattr(storage, "read", lambda path: pytest.fail("the whole file was read"))
    assert read_head(storage, path, 1, 4999) == head(1, 4999)
    assert sum(read) < 5000


def test_an_index_of_many_stages(storage: LocalCheckpointStorage) -> None:
    heads = {(stage, 0): head(stage, 0) for stage in range(1000)}
    path = write_index(storage, "index", heads)
    assert read_head(storage, path, 999, 0) == head(999, 0)
    assert read_all_heads(storage, path) == heads


def test_an_empty_index(storage: LocalCheckpointStorage) -> None:
    path = write_index(storage, "index", {})
    assert read_head(storage, path, 1, 0) is None
    assert read_all_heads(storage, path) == {}


def test_every_flipped_byte_of_ones_own_record_is_noticed(storage: LocalCheckpointStorage) -> None:
    path = write_index(storage, "index", {(1, 0): head(1, 0), (1, 1): head(1, 1)})
    data = storage.read(path)
    record = (len(data) - 12 - 8 - 8) // 2
    for at in (*range(len(data) - 2 * record), *range(len(data) - record, len(data))):
        storage.resolve(path).write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        with pytest.raises(StateCorruptionError, match=path):
            read_head(storage, path, 1, 1)


@pytest.mark.parametrize("length", [0, 5, 20, 60])
def test_a_cut_index_is_noticed(storage: LocalCheckpointStorage, length: int) -> None:
    path = write_index(storage, "index", {(1, 0): head(1, 0), (1, 1): head(1, 1)})
    storage.resolve(path).write_bytes(storage.read(path)[:length])
    with pytest.raises(StateCorruptionError, match=path):
        read_head(storage, path, 1, 1)


def test_a_record_of_another_subtask_is_noticed(storage: LocalCheckpointStorage) -> None:
    path = write_index(storage, "index", {(1, 0): head(1, 0), (1, 1): head(1, 1)})
    data = storage.read(path)
    record = (len(data) - 12 - 8 - 8) // 2
    storage.resolve(path).write_bytes(data[:-record] + data[-2 * record : -record])
    with pytest.raises(StateCorruptionError, match="subtask 1"):
        read_head(storage, path, 1, 1)


@pytest.mark.parametrize(
    "path",
    [
        "elsewhere/1/2-1-0-" + "0" * 32,
        head(2, 0),
        head(1, 1),
        "state/1/2-1-0-xyz",
        "state/1/2/1/0/" + "0" * 32,
        head(1, 0) + "0",
    ],
)
def test_a_head_that_is_no_state_file_of_the_subtask_is_refused(storage: LocalCheckpointStorage, path: str) -> None:
    with pytest.raises(StateError, match="cannot be the head of stage 1, subtask 0"):
        write_index(storage, "index", {(1, 0): path})
