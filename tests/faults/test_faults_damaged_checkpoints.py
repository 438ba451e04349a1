"""What the checkpoint directory, the local store and the disk can do to a job: it goes on rightly, or says why not."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from faults.rolling_job import expected, published, start_job, write_input
from penstock.common import fail_points
from penstock.common.errors import JobExecutionException
from penstock.common.fail_points import SimulatedCrash
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.state.index import read_all_heads
from penstock.state.storage import LocalCheckpointStorage

OPTIONS = {"execution.engine": "local", "execution.epoch.max-records": "25"}


class Job:
    """The rolling job in one directory, with a crash after some manifests if wanted."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.options = {**OPTIONS, "state.backend": "lmdb", "state.local-dir": str(directory / "local")}
        write_input(directory / "in")

    def run(
        self, *, crash_after_manifests: int | None = None, hook: Callable[[str], None] | None = None
    ) -> dict[str, Any]:
        fail_points.arm(hook if crash_after_manifests is None else _CrashAfter(crash_after_manifests))
        try:
            job = start_job(
                source=self.directory / "in",
                sink=self.directory / "out",
                checkpoint=self.checkpoint,
                options=self.options,
                noise=False,
            )
            job.wait(60)
            return job.metrics()
        except SimulatedCrash:
            assert crash_after_manifests is not None
            return {}
        finally:
            fail_points.arm(None)

    def fails(self, match: str) -> None:
        with pytest.raises(JobExecutionException, match=match):
            self.run()

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    @property
    def is_right(self) -> bool:
        return published(self.directory / "out") == expected(self.directory / "in")

    def forget_local_state(self) -> None:
        shutil.rmtree(self.directory / "local")

    def newest(self, kind: str) -> Path:
        """A file that the end of the log needs: the manifest itself, its index, or a subtask's state."""
        storage = LocalCheckpointStorage(str(self.checkpoint))
        entry = ManifestLog(storage, "reader").read_newest()
        assert entry is not None
        assert entry.manifest.index is not None
        if kind == "manifest":
            return max((self.checkpoint / "manifests").glob("*.json"))
        if kind == "index":
            return storage.resolve(entry.manifest.index)
        return storage.resolve(min(read_all_heads(storage, entry.manifest.index).values()))


class _CrashAfter:
    def __init__(self, manifests: int) -> None:
        self._left = manifests

    def __call__(self, name: str) -> None:
        self._left -= name == "publish.after"
        if self._left <= 0:
            raise SimulatedCrash(name)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.mark.parametrize("moves", [False, True], ids=["the same machine", "another machine"])
def test_state_is_where_the_job_goes_on(job, moves):
    job.run(crash_after_manifests=3)
    if moves:
        job.forget_local_state()
    metrics = job.run()
    assert job.is_right
    # Where the local store is, it may be one epoch behind.
    assert metrics["state_moves"] == (2 if moves else metrics["state_moves"])
    assert metrics["state_bytes_fetched"] > 500 if moves else metrics["state_bytes_fetched"] < 500


@pytest.mark.parametrize(
    ("kind", "damage"),
    # A manifest that is removed leaves an older log, which is whole: the restored backup below is about that.
    [(kind, damage) for kind in ("state", "index") for damage in ("truncated", "changed", "removed")]
    + [("manifest", "truncated"), ("manifest", "changed")],
)
def test_a_damaged_file_is_refused_by_name(job, kind, damage):
    job.run(crash_after_manifests=3)
    job.forget_local_state()
    path = job.newest(kind)
    if damage == "removed":
        path.unlink()
    else:
        content = path.read_bytes()
        middle = len(content) // 2
        path.write_bytes(
            content[:middle] if damage == "truncated" else content[:middle] + b"\x55\xaa" + content[middle + 2 :]
        )
    job.fails(match=path.name)


def test_an_index_that_has_the_content_of_an_older_one_is_refused_by_name(job):
    job.run(crash_after_manifests=3)
    path = job.newest("index")
    older = min(path.parent.iterdir(), key=lambda each: int(each.name.partition("-")[0]))
    assert older != path
    path.write_bytes(older.read_bytes())
    job.fails(match=path.name)


def test_a_restored_old_backup_is_refused_because_the_sink_shows_more(job):
    job.run(crash_after_manifests=2)
    shutil.copytree(job.checkpoint, job.directory / "backup")
    job.run()
    shutil.rmtree(job.checkpoint)
    (job.directory / "backup").rename(job.checkpoint)
    job.fails(match="older")
    assert job.is_right


def test_the_job_goes_on_with_more_subtasks(job):
    job.run(crash_after_manifests=2)
    start_job(
        source=job.directory / "in",
        sink=job.directory / "out",
        checkpoint=job.checkpoint,
        options=job.options,
        noise=False,
        parallelism=3,
    ).wait(60)
    assert job.is_right


@pytest.mark.parametrize("damage", ["torn", "empty", "garbage", "foreign"])
def test_a_torn_or_foreign_local_store_is_rebuilt(job, damage):
    job.run(crash_after_manifests=3)
    stores = sorted(path for path in (job.directory / "local").rglob("*.mdb"))
    assert len(stores) == 2
    content = stores[0].read_bytes()
    if damage == "torn":
        stores[0].write_bytes(content[: len(content) // 2])
    elif damage == "empty":
        stores[0].write_bytes(b"")
    elif damage == "garbage":
        stores[0].write_bytes(os.urandom(len(content)))
    else:
        shutil.copy(stores[1], stores[0])
    job.run()
    assert job.is_right


def test_a_local_store_that_is_damaged_while_it_is_open_costs_a_restart(job):
    job.options |= {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "1 ms"}
    epochs = 0

    def damage(name: str) -> None:
        nonlocal epochs
        epochs += name == "action.before"
        if name == "action.before" and epochs == 3:
            for store in (job.directory / "local").rglob("*.mdb"):
                with store.open("rb+") as file:
                    file.seek(2 * 4096)
                    file.write(bytes(store.stat().st_size - 2 * 4096))

    metrics = job.run(hook=damage)
    assert metrics["restarts"] > 0
    assert job.is_right


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own that is nearly full."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        # Not even root may mount in most containers.
        pytest.skip(f"the small disk that this test fills cannot be mounted: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_stops_the_job_with_a_sentence_and_space_lets_it_go_on(job, small_disk):
    (small_disk / "checkpoint").mkdir()
    job.checkpoint.symlink_to(small_disk / "checkpoint")
    job.run(crash_after_manifests=2)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    job.fails(match="full")
    filler.unlink()
    job.run()
    assert job.is_right
