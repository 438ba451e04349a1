"""Sinks of one job: they publish under one manifest, and while the next epoch is under way."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from penstock.common import Configuration, Types, fail_points
from penstock.common.batch import Batch
from penstock.common.fail_points import SimulatedCrash
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    EpochId,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
)
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink

SECONDS = 60


def environment(directory: Path) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("execution.runtime-mode", "STREAMING")
    configuration.set_string("execution.epoch.max-records", "10")
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)


@pytest.fixture(autouse=True)
def disarm():
    yield
    fail_points.arm(None)


def lines_in(directory: Path) -> list[int]:
    return sorted(int(line) for path in directory.glob("part-*") for line in path.read_text().splitlines())


def run_two_sinks(directory: Path) -> None:
    env = environment(directory)
    numbers = env.from_collection(list(range(30)), Types.LONG())
    numbers.sink_to(FileSink(directory / "one", "text")).uid("one")
    numbers.sink_to(FileSink(directory / "other", "text")).uid("other")
    env.execute_async().wait(SECONDS)


@pytest.mark.parametrize(
    ("point", "of_one", "of_other"),
    [("manifest.before", 10, 10), ("publish.before", 10, 10), ("publish.sink", 20, 10), ("publish.after", 20, 20)],
)
def test_all_sinks_show_an_epoch_or_the_restart_makes_them(
    tmp_path: Path, point: str, of_one: int, of_other: int
) -> None:
    hits = iter(range(100))
    before = {"publish.sink": 2}.get(point, 1)  # the first epoch passes it once for each sink

    def crash(name: str) -> None:
        if name == point and next(hits) == before:
            raise SimulatedCrash(name)

    fail_points.arm(crash)
    with pytest.raises(SimulatedCrash):
        run_two_sinks(tmp_path)
    fail_points.arm(None)
    assert lines_in(tmp_path / "one") == list(range(of_one))
    assert lines_in(tmp_path / "other") == list(range(of_other))
    run_two_sinks(tmp_path)
    assert lines_in(tmp_path / "one") == lines_in(tmp_path / "other") == list(range(30))


class WaitingSink(Sink):
    """Publishes its first epoch only when a file is there, and notes which epochs it has published."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def guarantee(self) -> DeliveryGuarantee:
        return DeliveryGuarantee.AT_LEAST_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return _CountingWriter()

    def create_committer(self, context: CommitterContext) -> Committer:
        return _WaitingCommitter(self.directory)


class _CountingWriter(SinkWriter):
    def __init__(self) -> None:
        self.count = 0

    def write(self, batch: Batch) -> None:
        self.count += len(batch)

    def prepare_commit(self) -> list[Token]:
        return [{"count": self.count}]


class _WaitingCommitter(Committer):
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        looks = 0
        while not (self.directory / "second").exists():
            looks += 1
            assert looks < 500, "the second epoch waits for the first one to be published"
            threading.Event().wait(0.02)
        with (self.directory / "published").open("a") as file:
            file.write(f"{sum(token['count'] for token in tokens)}\n")


def tell_of_second_epoch(directory: Path, number: int) -> int:
    if number >= 10:
        (directory / "second").touch()
    return number


def test_the_next_epoch_is_worked_on_while_one_is_published(tmp_path: Path) -> None:
    env = environment(tmp_path)
    numbers = env.from_collection(list(range(30)), Types.LONG())
    numbers.map(partial(tell_of_second_epoch, tmp_path), Types.LONG()).sink_to(WaitingSink(tmp_path))
    env.execute_async().wait(SECONDS)
    assert (tmp_path / "published").read_text().split() == ["10", "10", "10"]
