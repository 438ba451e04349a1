"""`check_sink` tells sinks that keep a promise from those that do not, and says why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import ArgumentError, SinkError
from penstock.connectors.files import FileSink
from penstock.connectors.sink import Committer, DeliveryGuarantee, EpochId, Sink, SinkWriter, TokenPublisher
from penstock.testing import check_sink

RECORDS = list(range(12))


class Log:
    """A target that shows every line of a file."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "log"

    def append(self, records: Iterable[int]) -> None:
        with self.path.open("a") as file:
            file.writelines(f"{record}\n" for record in records)

    def read(self) -> list[int]:
        return [int(line) for line in self.path.read_text().split()] if self.path.exists() else []


class StagingWriter(SinkWriter):
    def __init__(self, context: Any) -> None:
        self._context = context
        self._records: list[int] = []

    def write(self, batch: Any) -> None:
        self._records += batch.values

    def prepare_commit(self) -> list[Any]:
        path = self._context.storage.write_staged(self._context.staging, json.dumps(self._records).encode())
        return [{"path": path, "subtask": self._context.subtask}]


class LogSink(Sink):
    """Stages, and says that this is enough; how it publishes is for the classes below."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def guarantee(self) -> DeliveryGuarantee:
        return DeliveryGuarantee.EXACTLY_ONCE

    def create_writer(self, context: Any) -> SinkWriter:
        return StagingWriter(context)


class ForgetfulSink(LogSink):
    """Publishes again what it has published before."""

    def create_committer(self, context: Any) -> Committer:
        return ForgetfulCommitter(Log(self.directory), context.storage)


class ForgetfulCommitter(Committer):
    def __init__(self, log: Log, storage: Any) -> None:
        self._log, self._storage = log, storage

    def commit(self, epoch: EpochId, tokens: Any) -> None:
        for token in tokens:
            self._log.append(json.loads(self._storage.read(token["path"])))


class TwoStepSink(LogSink):
    """Remembers the epoch, but not in the same step: right unless it dies between two lines."""

    def __init__(self, directory: Path, *, notes_first: bool) -> None:
        super().__init__(directory)
        self.notes_first = notes_first

    def create_publisher(self, context: Any) -> TokenPublisher:
        return TwoStepPublisher(Log(self.directory), context, self.notes_first)


class TwoStepPublisher(TokenPublisher):
    def __init__(self, log: Log, context: Any, notes_first: bool) -> None:
        self._log, self._storage, self._notes_first = log, context.storage, notes_first
        self._note = log.path.with_name(f"note-{context.subtask}")

    def publish(self, epoch: EpochId, tokens: Any) -> None:
        if self._note.exists() and int(self._note.read_text()) >= epoch.number:
            return
        if self._notes_first:
            self._write_note(epoch)
        for token in tokens:
            self._log.append(json.loads(self._storage.read(token["path"])))
        self._write_note(epoch)

    def _write_note(self, epoch: EpochId) -> None:
        written = self._note.with_suffix(f".{id(self)}")
        written.write_text(str(epoch.number))
        written.replace(self._note)


class StubbornSink(ForgetfulSink):
    """Cannot be started again."""

    def create_committer(self, context: Any) -> Committer:
        return StubbornCommitter(Log(self.directory), context.storage)


class StubbornCommitter(ForgetfulCommitter):
    def recover(self, newest: EpochId | None) -> None:
        if newest is not None:
            raise SinkError("the target is locked")


def lies(new_sink: Callable[[Path], Sink], **options: Any) -> str:
    """What `check_sink` says of a sink that declares too much."""
    with pytest.raises(AssertionError) as raised:
        check_sink(lambda directory: (new_sink(directory), Log(directory).read), RECORDS, **options)
    return str(raised.value)


def test_a_sink_that_publishes_twice_may_promise_at_least_once() -> None:
    told = lies(ForgetfulSink)
    assert told.startswith("the sink may promise at-least-once, and declares exactly-once: ")
    assert "every epoch is published again: 12 too many: 0, 1, 10, 11, ..." in told
    assert "crash after call 3 of 3 of `commit`: 4 too many: 10, 11, 8, 9" in told


def test_a_sink_that_publishes_nothing_may_promise_nothing() -> None:
    assert "no failure: 12 lost: 0, 1, 10, 11, ..." in lies(LogSink)


@pytest.mark.parametrize(
    ("notes_first", "promise"), [(True, "none"), (False, "at-least-once")], ids=["note first", "note last"]
)
def test_a_crash_between_two_lines_is_found(notes_first: bool, promise: str) -> None:
    told = lies(lambda directory: TwoStepSink(directory, notes_first=notes_first))
    assert told.startswith(f"the sink may promise {promise}, ")
    assert "crash at test_testing_check_sink.py:" in told
    assert "in `publish`" in told


def test_a_sink_that_cannot_go_on_may_promise_nothing() -> None:
    told = lies(StubbornSink, inside=False)
    assert told.startswith("the sink may promise none")
    assert "the sink cannot go on: SinkError: the target is locked" in told


def test_files_are_written_exactly_once() -> None:
    def new_target(directory: Path) -> Any:
        def read() -> list[int]:
            return [int(line) for file in directory.rglob("part-*") for line in file.read_text().split()]

        return FileSink(str(directory), "text"), read

    report = check_sink(new_target, RECORDS, Types.INT(), inside=False)
    assert report.may_promise is DeliveryGuarantee.EXACTLY_ONCE, report
    assert not report.evidence


def test_too_few_records_are_refused() -> None:
    with pytest.raises(ArgumentError, match="5 records are too few for 3 epochs of 2 subtasks; give 12 or so"):
        check_sink(lambda directory: (LogSink(directory), list), RECORDS[:5])


def test_a_mistake_that_needs_no_failure_is_raised_as_it_is() -> None:
    class Broken(LogSink):
        def create_writer(self, context: Any) -> SinkWriter:
            raise ZeroDivisionError("a mistake")

    with pytest.raises(ZeroDivisionError, match="a mistake"):
        check_sink(lambda directory: (Broken(directory), list), RECORDS)
