"""A job changes between epochs and pipelined mode from one start to the next: the checkpoint is the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from penstock.engine.pipelined.followed_source import FollowedSource
from penstock.execution.job_client import JobClient
from penstock.testing.memory_sink import MemorySink
from pipelined.list_source import two_splits
from pipelined.local_pipelined import environment
from pipelined.running_count import Running

pytestmark = pytest.mark.usefixtures("tasks_in_this_process")


@pytest.mark.parametrize("modes", [("pipelined", "epochs"), ("epochs", "pipelined")])
@pytest.mark.parametrize("with_savepoint", [False, True])
def test_a_job_goes_on_in_the_other_mode_with_another_parallelism(
    modes: tuple[str, str], with_savepoint: bool, tmp_path: Path
) -> None:
    sink = MemorySink()

    def start(latency: str, parallelism: int, **options: str) -> JobClient:
        env = environment(latency, **options).set_parallelism(parallelism)
        records = env.from_source(two_splits(per_epoch=2), None, "pairs").uid("pairs")
        records.key_by(lambda pair: pair[0]).process(Running()).uid("running").sink_to(sink).uid("sink")
        if "execution__savepoint__path" in options:
            assert env.check_upgrade(options["execution__savepoint__path"]).is_possible
        return env.execute_async("counts")

    job = start(modes[0], 2, execution__checkpointing__dir=str(tmp_path / "first"))
    while not sink.epochs:
        if job.has_ended(0.005):
            pytest.fail(f"the job ended before it was stopped: {job.wait()}")
    if with_savepoint:
        savepoint = job.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(60)
    else:
        job.cancel().result()
    place = {"execution__checkpointing__dir": str(tmp_path / ("second" if with_savepoint else "first"))}
    if with_savepoint:
        place["execution__savepoint__path"] = savepoint
    start(modes[1], 3, **place).wait(60)
    assert Counter(sink.records) == Counter((f"key-{key}", count) for key in range(3) for count in range(1, 9))


def test_a_job_of_a_version_that_did_not_put_down_which_source_it_followed_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = MemorySink()

    def start(parallelism: int) -> JobClient:
        env = environment("pipelined", execution__checkpointing__dir=str(tmp_path)).set_parallelism(parallelism)
        records = env.from_source(two_splits(per_epoch=2), None, "pairs").uid("pairs")
        records.key_by(lambda pair: pair[0]).process(Running()).uid("running").sink_to(sink).uid("sink")
        return env.execute_async("counts")

    with monkeypatch.context() as older:
        older.setattr(FollowedSource, "position_kind", "FollowedSource")
        job = start(2)
        while not sink.epochs:
            if job.has_ended(0.005):
                pytest.fail(f"the job ended before it was stopped: {job.wait()}")
        job.cancel().result()
    start(3).wait(60)
    assert Counter(sink.records) == Counter((f"key-{key}", count) for key in range(3) for count in range(1, 9))


def test_a_job_goes_on_where_it_was_stopped_in_either_mode(tmp_path: Path) -> None:
    sink = MemorySink()

    def start(latency: str) -> JobClient:
        env = environment(latency, execution__checkpointing__dir=str(tmp_path / "checkpoint"))
        records = env.from_source(two_splits(per_epoch=2), None, "pairs").uid("pairs")
        records.key_by(lambda pair: pair[0]).process(Running()).uid("running").sink_to(sink).uid("sink")
        return env.execute_async("counts")

    for latency in ("pipelined", "epochs"):
        before, job = len(sink.epochs), start(latency)
        while len(sink.epochs) <= before:
            if job.has_ended(0.005):
                pytest.fail(f"the job ended before it was stopped: {job.wait()}")
        job.cancel().result()
    start("pipelined").wait(60)
    assert Counter(sink.records) == Counter((f"key-{key}", count) for key in range(3) for count in range(1, 9))
