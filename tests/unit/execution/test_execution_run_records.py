"""Records of runs: who ran a job when, and how it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import Configuration, JobExecutionException
from penstock.common.errors import CheckpointError
from penstock.datastream import StreamExecutionEnvironment
from penstock.execution.run_records import Run, RunState, read_runs
from penstock.state.storage import LocalCheckpointStorage, open_storage


def environment(checkpoint: Path) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("execution.checkpointing.dir", str(checkpoint))
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)


def runs_in(checkpoint: Path) -> list[Run]:
    return read_runs(open_storage(str(checkpoint)))


def test_every_run_is_recorded(tmp_path: Path) -> None:
    for divisor in (0, 1):
        env = environment(tmp_path)
        env.from_collection([1]).map(lambda n, divisor=divisor: n // divisor).print()
        try:
            env.execute("division")
        except JobExecutionException:
            assert divisor == 0
    failed, finished = runs_in(tmp_path)
    assert (failed.state, finished.state) == (RunState.FAILED, RunState.FINISHED)
    assert failed.end is not None
    assert failed.end.error is not None
    assert failed.end.error.startswith("ZeroDivisionError")
    assert finished.start.job_name == "division"
    assert finished.start.explained.startswith("job: division")


def test_old_records_are_removed(tmp_path: Path) -> None:
    for _ in range(25):
        env = environment(tmp_path)
        env.from_collection([1]).uid("one").add_sink(lambda n: None).uid("nowhere")
        env.execute()
    assert 20 <= len(runs_in(tmp_path)) <= 21


def test_an_end_that_cannot_be_written_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = LocalCheckpointStorage.put_if_absent

    def refuse_ends(self: LocalCheckpointStorage, path: str, content: bytes) -> bool:
        if path.endswith(".ended.json"):
            raise CheckpointError("the disk is full")
        return write(self, path, content)

    monkeypatch.setattr(LocalCheckpointStorage, "put_if_absent", refuse_ends)
    env = environment(tmp_path)
    env.from_collection([1]).add_sink(lambda n: None)
    env.execute()
    (run,) = runs_in(tmp_path)
    assert (run.end, run.state) == (None, RunState.RUNNING)


def test_a_job_without_a_directory_of_its_own_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    configuration = Configuration().set_string("execution.engine", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_collection([1]).add_sink(lambda n: None)
    env.execute()
    assert not list(tmp_path.rglob("*.json"))
