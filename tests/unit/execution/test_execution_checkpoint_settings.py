"""What the settings of checkpoints do to a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, JobExecutionException
from penstock.datastream import CheckpointingMode, ExternalizedCheckpointRetention, StreamExecutionEnvironment
from penstock.engine.epochs.stage_executor import ExecutionFailedError
from penstock.engine.local.executor import LocalStageExecutor
from penstock.testing import ScriptedSource, VirtualClock, local_environment, pause, record

STEPS = [step for number in range(6) for step in (record(number), pause(1))]


def environment(directory: Path, clock: VirtualClock | None = None, **options: str) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    for key, value in options.items():
        configuration.set_string(key, value)
    return local_environment(configuration, clock=clock)


def manifests(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "checkpoint" / "manifests").glob("*.json"))


@pytest.mark.parametrize("setting", ["interval", "pause"])
def test_epochs_keep_their_distance(tmp_path: Path, setting: str) -> None:
    clock = VirtualClock()
    env = environment(tmp_path, clock)
    if setting == "interval":
        env.enable_checkpointing(10_000, CheckpointingMode.AT_LEAST_ONCE)
    else:
        env.get_checkpoint_config().set_min_pause_between_checkpoints(10_000)
    env.from_source(ScriptedSource(STEPS)).print()
    job = env.execute_async()
    job.wait(60)
    waits = job.metrics()["epochs"] - 1
    assert waits >= 5
    assert waits * 9_900 <= clock.now() <= waits * 10_100 + 1000


def test_a_full_epoch_is_followed_by_the_next_at_once(tmp_path: Path) -> None:
    clock = VirtualClock()
    env = environment(tmp_path, clock, **{"execution.epoch.max-records": "10"}).enable_checkpointing(10_000)
    env.from_collection(range(100)).print()
    env.execute()
    assert clock.now() <= 10_000, "a job that has much to read is not held up"


def fail(value: int) -> int:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("retention", "kept_after"),
    [
        (None, {"finish", "cancel", "failure"}),
        (ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION, {"cancel", "failure"}),
        (ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION, {"failure"}),
        (ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS, set()),
    ],
)
def test_what_becomes_of_the_checkpoint(
    tmp_path: Path, retention: ExternalizedCheckpointRetention | None, kept_after: set[str]
) -> None:
    kept: set[str] = set()
    for end in ("finish", "cancel", "failure"):
        directory = tmp_path / end
        (directory / "checkpoint").mkdir(parents=True)
        (directory / "checkpoint" / "mine.txt").write_text("not a job's")
        env = environment(directory)
        if retention is not None:
            env.get_checkpoint_config().set_externalized_checkpoint_retention(retention)
        stream = env.from_source(ScriptedSource([record(1), *([pause("1 d")] * 100_000 if end == "cancel" else [])]))
        (stream.map(fail) if end == "failure" else stream).print()
        job = env.execute_async()
        if end == "cancel":
            while not job.metrics()["epochs"]:
                assert not job.has_ended(within=0.01)
            job.cancel().result()
        elif end == "failure":
            with pytest.raises(JobExecutionException):
                job.wait(60)
        else:
            job.wait(60)
        assert (directory / "checkpoint" / "mine.txt").exists()
        if manifests(directory):
            kept.add(end)
    assert kept == kept_after


@pytest.mark.parametrize(("tolerated", "attempts"), [(None, 4), (0, 1), (6, 7)])
def test_so_many_lost_epochs_are_tolerated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tolerated: int | None, attempts: int
) -> None:
    tries: list[Any] = []

    def lose(self: LocalStageExecutor, header: Any, tasks: Any) -> Any:
        tries.append(header)
        raise ExecutionFailedError("an executor was lost")

    monkeypatch.setattr(LocalStageExecutor, "run", lose)
    env = environment(tmp_path)
    if tolerated is not None:
        env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(tolerated)
    env.from_collection([1]).print()
    with pytest.raises(JobExecutionException, match=f"failed {attempts} times"):
        env.execute()
    assert len(tries) == attempts


@pytest.mark.parametrize("option", ["state.retained-checkpoints", "execution.checkpointing.num-retained"])
def test_so_many_epochs_are_retained(tmp_path: Path, option: str) -> None:
    env = environment(tmp_path, **{option: "3", "execution.epoch.max-records": "1"})
    env.from_sequence(1, 40).print()
    env.execute()
    # Twenty more can wait to be removed.
    assert 3 <= len(manifests(tmp_path)) <= 3 + 20
