"""What a long-running job leaves on disk, and which epochs can still be restored."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types
from penstock.common.errors import FencedError, JobExecutionException
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.engine.epochs.manifest import EPOCH, TAKEOVER, Manifest
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.engine.epochs.restorable import newest_restorable
from penstock.engine.epochs.retention import remove_unneeded
from penstock.state.background_snapshots import LONGEST_WAIT
from penstock.state.index import read_all_heads, write_index
from penstock.state.memory import MemoryStore
from penstock.state.snapshots import snapshot_of
from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_files import Snapshot, bring_to, write_delta
from penstock.state.storage import LocalCheckpointStorage
from penstock.testing import local_environment
from penstock.testing.memory_sink import MemorySink

FIRST = Manifest(
    number=0, kind=EPOCH, job_id="j", job_name="job", incarnation=1, token="", parent=None, fingerprint="f", plan={}
)


@pytest.fixture
def storage(tmp_path: Path) -> LocalCheckpointStorage:
    return LocalCheckpointStorage(str(tmp_path))


def append(log: ManifestLog, **changes: Any) -> Manifest:
    newest = log.newest
    assert newest is not None
    manifest = replace(newest.manifest, number=newest.manifest.number + 1, kind=EPOCH, parent=newest.hash, **changes)
    log.append(manifest)
    return manifest


def head_of(storage: LocalCheckpointStorage, manifest: Manifest) -> str:
    assert manifest.index is not None
    return read_all_heads(storage, manifest.index)[1, 0]


def append_with_state(storage: LocalCheckpointStorage, log: ManifestLog, base: Snapshot | None = None) -> Manifest:
    assert log.newest is not None
    manifest = log.newest.manifest
    number = manifest.number + 1
    before = None if manifest.index is None else read_all_heads(storage, manifest.index)[1, 0]
    entries = SortedEntries.of_sorted([(b"key", str(number).encode())])
    head = write_delta(storage, f"state/1/{number}-1-0", entries, before, (1, number), base=base)
    return append(log, index=write_index(storage, f"index/1/{number}", {(1, 0): head}))


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self._count.update((self._count.value() or 0) + 1)
        if value % 1000 == 0:
            yield self._count.value()


def files_in(directory: Path) -> tuple[int, int]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return len(files), sum(path.stat().st_size for path in files)


EPOCHS = int(os.environ.get("PENSTOCK_RETENTION_EPOCHS", "1000"))
"""`make soak` runs 10,000."""


def test_many_epochs_keep_a_bounded_number_of_files_and_bytes(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    configuration = Configuration().set_string("execution.checkpointing.dir", str(checkpoint))
    configuration.set_string("execution.epoch.max-records", "1").set_string("logging.level", "error")
    env = local_environment(configuration)
    sink = MemorySink()
    numbers = env.from_sequence(1, EPOCHS)
    numbers.key_by(lambda value: value % 7, Types.LONG()).process(Count()).sink_to(sink)
    job = env.execute_async()
    most_files = most_bytes = 0
    while not job.has_ended(within=0.5):
        try:
            count, size = files_in(checkpoint)
        except FileNotFoundError:
            continue
        most_files, most_bytes = max(most_files, count), max(most_bytes, size)
    job.wait()
    assert job.metrics()["epochs"] >= EPOCHS
    assert len(sink.records) == EPOCHS // 1000
    # Two chains of at most 201 deltas, twenty epochs that are not yet cleaned up, and what there is once.
    assert files_in(checkpoint)[0] < 800
    assert most_files < 1500
    assert most_bytes < 5_000_000


def test_snapshots_are_kept_while_they_may_become_a_base_and_no_longer(storage: LocalCheckpointStorage) -> None:
    log = ManifestLog(storage, "driver")
    log.take_over(FIRST)
    store = MemoryStore()

    def snapshot(head: str) -> Snapshot:
        bring_to(store, head, storage)
        assert log.newest is not None
        return snapshot_of(storage, store, head, f"state/1/{log.newest.manifest.number + 1}-1-0")

    def left() -> set[str]:
        remove_unneeded(storage, log, retained=2)
        return {path for path in storage.list("state/1") if "-snapshot-" in path}

    made = [snapshot(head_of(storage, append_with_state(storage, log))) for _ in range(3)]
    for _ in range(20):
        append_with_state(storage, log)
    assert left() == {each.path for each in made}, "whoever makes them may be slow"
    append_with_state(storage, log, made[1])
    append_with_state(storage, log)
    append_with_state(storage, log)
    assert left() == {made[1].path, made[2].path}, "those before the base can never be one"
    for _ in range(2 * LONGEST_WAIT + 10):
        append(log)
    assert left() == {made[1].path}
    fresh = MemoryStore()
    assert log.newest is not None
    bring_to(fresh, head_of(storage, log.newest.manifest), storage)
    assert len(list(fresh.scan(b"", b"\xff"))) == 1


def test_takeovers_do_not_pile_up_and_do_not_push_epochs_out(storage: LocalCheckpointStorage) -> None:
    log = ManifestLog(storage, "driver")
    log.take_over(FIRST)
    kept = [append(log).number for _ in range(5)]
    for _ in range(30):
        log.take_over(FIRST)
    takeovers = [number for number in log.numbers() if log.read(number).manifest.kind == TAKEOVER]
    assert len(takeovers) <= 3
    remove_unneeded(storage, log, retained=4)
    assert [number for number in log.numbers() if log.read(number).manifest.kind == EPOCH] == kept[1:]


def test_a_zombie_is_fenced_although_the_name_that_it_puts_is_free_again(storage: LocalCheckpointStorage) -> None:
    zombie, other = ManifestLog(storage, "zombie"), ManifestLog(storage, "other")
    zombie.take_over(FIRST)
    append(zombie)
    other.take_over(FIRST)
    for _ in range(10):
        append(other)
    remove_unneeded(storage, other, retained=2)
    before = other.numbers()
    assert 3 not in before
    with pytest.raises(FencedError, match="other's"):
        append(zombie)
    assert other.numbers() == before


def test_a_driver_that_was_the_writer_once_does_not_take_over_again(storage: LocalCheckpointStorage) -> None:
    first, second = ManifestLog(storage, "first"), ManifestLog(storage, "second")
    first.take_over(FIRST)
    first.take_over(FIRST)
    second.take_over(FIRST)
    with pytest.raises(FencedError, match="second's"):
        first.take_over(FIRST)


@pytest.mark.parametrize("damage", ["removed", "truncated", "changed"])
@pytest.mark.parametrize("kind", ["manifest", "index", "state"])
def test_the_newest_epoch_that_can_still_be_restored_is_found(
    storage: LocalCheckpointStorage, kind: str, damage: str
) -> None:
    log = ManifestLog(storage, "driver")
    log.take_over(FIRST)
    manifests = [append_with_state(storage, log) for _ in range(4)]
    assert newest_restorable(storage) == manifests[-1].number
    newest = manifests[-1]
    assert newest.index is not None
    path = storage.resolve(
        {
            "manifest": f"manifests/{newest.number:020d}.json",
            "index": newest.index,
            "state": read_all_heads(storage, newest.index)[1, 0],
        }[kind]
    )
    content = path.read_bytes()
    middle = len(content) // 2
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes(content[:middle] + (b"" if damage == "truncated" else b"\x00\xff" + content[middle + 2 :]))
    assert newest_restorable(storage) == manifests[-2].number


def test_a_damaged_checkpoint_says_what_can_still_be_restored(tmp_path: Path) -> None:
    def run() -> None:
        configuration = Configuration().set_string("execution.checkpointing.dir", str(tmp_path / "checkpoint"))
        configuration.set_string("execution.epoch.max-records", "2")
        env = local_environment(configuration)
        env.from_sequence(1, 20).key_by(lambda value: value % 3).process(Count()).print()
        env.execute()

    run()
    storage = LocalCheckpointStorage(str(tmp_path / "checkpoint"))
    newest = newest_restorable(storage)
    assert newest is not None
    storage.resolve(f"manifests/{newest:020d}.json").write_bytes(b"{}")
    with pytest.raises(JobExecutionException, match=rf"{newest:020d}\.json is damaged.*restored is {newest - 1}:"):
        run()
