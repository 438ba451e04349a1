from __future__ import annotations

import errno
import os
import pickle
import shutil
import signal
from hashlib import blake2b
from pathlib import Path

import pytest

from penstock.common.errors import (
    CheckpointError,
    CheckpointUnavailableError,
    FencedError,
    StateCorruptionError,
    UnsupportedError,
)
from penstock.state.storage import LocalCheckpointStorage, open_storage
from services.python_process import run_python


@pytest.fixture
def storage(tmp_path: Path) -> LocalCheckpointStorage:
    return LocalCheckpointStorage(str(tmp_path / "checkpoint"))


def test_a_staged_file_is_named_by_the_hash_of_its_content(storage: LocalCheckpointStorage) -> None:
    path = storage.write_staged("state/1/42-1-0", b"content")
    assert path == f"state/1/42-1-0-{blake2b(b'content', digest_size=16).hexdigest()}"
    assert storage.read_verified(path) == b"content"
    assert storage.write_staged("state/1/42-1-0", b"content") == path
    assert storage.list("state/1") == [path]


def test_one_content_under_two_prefixes_is_two_files(storage: LocalCheckpointStorage) -> None:
    paths = [storage.write_staged(f"state/1/42-1-{subtask}", b"content") for subtask in (0, 1)]
    assert storage.list("state/1") == paths
    storage.delete(paths[0])
    assert storage.read_verified(paths[1]) == b"content"


def test_a_damaged_file_is_named(storage: LocalCheckpointStorage) -> None:
    path = storage.write_staged("state/1-1-0", b"content")
    storage.resolve(path).write_bytes(b"c0ntent")
    with pytest.raises(StateCorruptionError, match=path):
        storage.read_verified(path)


def test_a_torn_file_of_the_same_name_is_replaced(storage: LocalCheckpointStorage) -> None:
    path = storage.write_staged("state/1-1-0", b"content")
    storage.resolve(path).write_bytes(b"cont")
    storage.write_staged("state/1-1-0", b"content")
    assert storage.read_verified(path) == b"content"


def test_a_missing_file_is_named(storage: LocalCheckpointStorage) -> None:
    for read in (storage.read, storage.read_verified, lambda path: storage.read_range(path, 0, 1)):
        with pytest.raises(StateCorruptionError, match="state/absent"):
            read("state/absent")


def files(storage: LocalCheckpointStorage) -> list[str]:
    """All files below the root, unfinished ones among them."""
    root = storage.resolve("")
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_the_first_put_wins(storage: LocalCheckpointStorage) -> None:
    assert storage.put_if_absent("manifests/1", b"first")
    assert not storage.put_if_absent("manifests/1", b"second")
    assert storage.read("manifests/1") == b"first"
    assert files(storage) == ["manifests/1"]


def test_files_are_listed_and_deleted(storage: LocalCheckpointStorage) -> None:
    for path in ("a/2/x", "a/10/y", "b/z"):
        storage.put_if_absent(path, b"")
    assert storage.list("a") == ["a/10", "a/2"]
    assert files(storage) == ["a/10/y", "a/2/x", "b/z"]
    assert storage.list("absent") == []
    storage.delete("b/z")
    storage.delete("b/z")
    assert not storage.exists("b/z")
    assert files(storage) == ["a/10/y", "a/2/x"]


def test_a_directory_that_was_deleted_can_be_used_again(storage: LocalCheckpointStorage) -> None:
    storage.put_if_absent("a/b/x", b"1")
    shutil.rmtree(storage.resolve("a"))
    assert storage.put_if_absent("a/b/x", b"2")
    assert storage.read("a/b/x") == b"2"


KILLED_BEFORE_THE_CONTENT_IS_DURABLE = """
import os, signal, sys
from penstock.state.storage import LocalCheckpointStorage
storage = LocalCheckpointStorage(sys.argv[1])
storage.put_if_absent("state/1/first", b"")  # Directories are synced by the first write: not what is tested here.
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
storage.write_staged("state/1/42-1-0", b"content") if sys.argv[2] == "staged" else storage.put_if_absent("x", b"")
"""


@pytest.mark.parametrize("write", ["staged", "put"])
def test_what_a_killed_writer_left_is_not_listed_and_can_be_removed(
    storage: LocalCheckpointStorage, write: str
) -> None:
    state = storage.write_staged("state/1/41-1-0", b"content")
    killed = run_python("-c", KILLED_BEFORE_THE_CONTENT_IS_DURABLE, storage.location, write)
    assert killed.returncode == -signal.SIGKILL
    finished = [state, "state/1/first"]
    assert len(files(storage)) == len(finished) + 1
    assert storage.list("state/1") == finished
    assert storage.list("") == ["state"]
    storage.remove_unfinished()
    assert files(storage) == finished
    storage.remove_unfinished()
    assert files(storage) == finished


def test_only_unfinished_files_are_removed_at_every_depth(storage: LocalCheckpointStorage) -> None:
    finished = ["a/b/c/x", "a/x.tmp-1", "tmp-x"]
    for path in finished:
        storage.put_if_absent(path, b"")
    for directory in ("", "a", "a/b", "a/b/c"):
        storage.resolve(f"{directory}/.tmp-1" if directory else ".tmp-1").write_bytes(b"half")
    storage.remove_unfinished()
    assert files(storage) == finished


def test_nothing_is_unfinished_where_nothing_was_written(storage: LocalCheckpointStorage) -> None:
    storage.remove_unfinished()
    assert not storage.exists("")


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd"])
def test_paths_stay_in_the_root(storage: LocalCheckpointStorage, path: str) -> None:
    with pytest.raises(CheckpointError, match="leaves the checkpoint directory"):
        storage.resolve(path)


def test_a_part_of_a_file(storage: LocalCheckpointStorage) -> None:
    storage.put_if_absent("x", b"0123456789")
    assert storage.read_range("x", 3, 4) == b"3456"
    assert storage.read_range("x", 8, 4) == b"89"


def test_a_full_disk_is_a_sentence_and_leaves_nothing(
    storage: LocalCheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.put_if_absent("state/x", b"")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="is full"):
        storage.write_staged("state/1-1-0", b"content")
    with pytest.raises(CheckpointError, match="is full"):
        storage.put_if_absent("state/y", b"content")
    assert files(storage) == ["state/x"]


def test_a_file_system_without_hard_links_is_refused(
    storage: LocalCheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(CheckpointError, match="hard links"):
        storage.put_if_absent("manifests/1", b"")


def test_content_is_synced_before_its_name_and_the_name_before_returning(
    storage: LocalCheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    real_fsync, real_replace = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        kind = "directory" if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir() else "file"
        events.append(f"sync {kind}")
        real_fsync(descriptor)

    def replace(self: Path, target: Path) -> Path:
        events.append("rename")
        return real_replace(self, target)

    storage.put_if_absent("state/x", b"")
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    storage.write_staged("state/1-1-0", b"content")
    assert events == ["sync file", "rename", "sync directory"]


def test_only_the_root_travels(storage: LocalCheckpointStorage) -> None:
    copy = pickle.loads(pickle.dumps(storage))
    assert copy == storage
    assert copy.location == storage.location


@pytest.mark.parametrize("directory", ["a file", "a file/checkpoint"])
def test_a_directory_that_cannot_be_made_is_a_sentence(tmp_path: Path, directory: str) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(CheckpointUnavailableError, match=r"the checkpoint directory .* Give a directory") as refused:
        open_storage(str(tmp_path / directory)).put_if_absent("manifests/1", b"")
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_storage_by_uri(tmp_path: Path) -> None:
    assert open_storage(str(tmp_path)).location == str(tmp_path)
    assert open_storage(f"file://{tmp_path}/a%20b").location == f"{tmp_path}/a b"
    with pytest.raises(UnsupportedError, match="s3://"):
        open_storage("s3://bucket/checkpoint")
    with pytest.raises(UnsupportedError, match="three slashes"):
        open_storage("file://relative/path")


@pytest.mark.parametrize("write", ["write_staged", "put_if_absent"])
def test_a_writer_whose_file_a_new_driver_removed_is_told_so(
    storage: LocalCheckpointStorage, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    sync = os.fsync

    def take_over_after_the_sync(descriptor: int) -> None:
        sync(descriptor)
        storage.remove_unfinished()

    storage.write_staged("state/1/1", b"makes the directories")
    monkeypatch.setattr(os, "fsync", take_over_after_the_sync)
    with pytest.raises(FencedError, match="another driver has taken over"):
        getattr(storage, write)("state/1/2", b"content")
