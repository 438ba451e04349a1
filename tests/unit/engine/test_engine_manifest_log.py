from dataclasses import replace
from pathlib import Path

import pytest

from penstock.common.errors import CheckpointError, FencedError
from penstock.engine.epochs.manifest import EPOCH, TAKEOVER, Manifest
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.state.storage import LocalCheckpointStorage

FIRST = Manifest(
    number=0,
    kind=EPOCH,
    job_id="j",
    job_name="job",
    incarnation=1,
    token="",
    parent=None,
    fingerprint="f",
    plan={},
)


@pytest.fixture
def storage(tmp_path: Path) -> LocalCheckpointStorage:
    return LocalCheckpointStorage(str(tmp_path))


def epoch_after(log: ManifestLog, **changes: object) -> Manifest:
    newest = log.newest
    assert newest is not None
    return replace(newest.manifest, number=newest.manifest.number + 1, kind=EPOCH, parent=newest.hash, **changes)


def test_a_new_log_starts_with_a_takeover(storage):
    log = ManifestLog(storage, "driver-1")
    manifest = log.take_over(FIRST)
    assert (manifest.number, manifest.kind, manifest.token) == (1, TAKEOVER, "driver-1")


def test_a_second_driver_carries_the_state_on_and_fences_the_first(storage):
    first, second = ManifestLog(storage, "first"), ManifestLog(storage, "second")
    first.take_over(FIRST)
    first.append(epoch_after(first, index="somewhere"))
    taken = second.take_over(FIRST)
    assert (taken.number, taken.index, taken.job_id) == (3, "somewhere", "j")
    with pytest.raises(FencedError, match="another driver has taken over"):
        first.append(epoch_after(first))


def test_a_put_whose_answer_was_lost_counts_as_won_when_the_bytes_are_ours(storage):
    log = ManifestLog(storage, "driver")
    log.take_over(FIRST)
    following = epoch_after(log)
    storage.put_if_absent("manifests/00000000000000000002.json", following.to_bytes())
    log.append(following)
    assert log.newest is not None
    assert log.newest.manifest == following


def test_the_newest_epoch_is_found_behind_takeovers(storage):
    log = ManifestLog(storage, "driver")
    log.take_over(FIRST)
    log.append(epoch_after(log, tokens="t"))
    ManifestLog(storage, "other").take_over(FIRST)
    newest = ManifestLog(storage, "third").newest_epoch()
    assert newest is not None
    assert (newest.number, newest.tokens) == (2, "t")


def test_what_a_fenced_driver_puts_where_a_takeover_was_removed_is_not_the_newest_epoch(storage):
    first, fenced = ManifestLog(storage, "first"), ManifestLog(storage, "fenced")
    first.take_over(FIRST)
    first.append(epoch_after(first, tokens="of the first"))
    fenced.take_over(FIRST)
    lost = epoch_after(fenced, tokens="of the fenced")
    for token in ("third", "fourth", "fifth"):
        ManifestLog(storage, token).take_over(FIRST)
    assert storage.put_if_absent("manifests/00000000000000000004.json", lost.to_bytes()), "it dies before it looks"
    newest = ManifestLog(storage, "sixth").newest_epoch()
    assert newest is not None
    assert (newest.number, newest.tokens) == (2, "of the first")


def damaged(storage: LocalCheckpointStorage, number: int) -> Path:
    return storage.resolve(f"manifests/{number:020d}.json")


def test_a_damaged_manifest_is_refused_by_name(storage):
    ManifestLog(storage, "driver").take_over(FIRST)
    path = damaged(storage, 1)
    path.write_bytes(path.read_bytes().replace(b'"job"', b'"jab"'))
    with pytest.raises(CheckpointError, match=r"00001\.json is damaged"):
        ManifestLog(storage, "driver").read_newest()


def test_a_gap_in_the_log_is_refused(storage):
    log = ManifestLog(storage, "driver")
    log.take_over(FIRST)
    for _ in range(2):
        log.append(epoch_after(log))
    damaged(storage, 2).unlink()
    with pytest.raises(CheckpointError, match="gap between 1 and 3"):
        ManifestLog(storage, "driver").read_newest()


def test_a_manifest_of_another_history_is_refused(storage):
    log = ManifestLog(storage, "driver")
    log.take_over(FIRST)
    foreign = replace(FIRST, number=2, parent="0" * 32)
    storage.put_if_absent("manifests/00000000000000000002.json", foreign.to_bytes())
    with pytest.raises(CheckpointError, match="mixes files of two histories"):
        ManifestLog(storage, "driver").read_newest()
