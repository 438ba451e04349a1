"""Drives a sink through a few epochs as the engine does, and makes it crash on the way."""

from __future__ import annotations

import gc
import json
import pickle
import sys
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from penstock.common.batch import Batch, RecordCodec
from penstock.common.by_value import pickled_by_value
from penstock.common.fail_points import SimulatedCrash
from penstock.common.watermark_generator import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    EpochEnd,
    EpochId,
    PublisherContext,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
    TokenPublisher,
)
from penstock.state.storage import LocalCheckpointStorage

T = TypeVar("T")
Tokens = dict[int, list[Token]]
"""What writers said, by subtask."""

EPOCHS = 3
SUBTASKS = 2
BATCHES = 2
_EPOCH_MS = 1000
_JOB = "check-sink"
_UID = "sink"
_CONTRACT = sys.modules[Sink.__module__]


@dataclass
class CallLog:
    """Counts the calls of a run, and crashes at one of them.

    `crash_at` is (name, number, "before" or "after"); `crash_line` a file and a line of the sink's own code, and which
    time that it is reached.
    """

    crash_at: tuple[str, int, str] | None = None
    crash_line: tuple[str, int, int] | None = None
    counts: dict[str, int] = field(default_factory=dict[str, int])
    lines: dict[tuple[str, int], list[str]] = field(default_factory=dict[tuple[str, int], list[str]])
    """Lines of the sink's own code that were reached, and in which calls."""
    own_files: frozenset[str] = frozenset()

    def call(self, name: str, function: Callable[[], T]) -> T:
        """Makes a call of the contract."""
        number = self.counts[name] = self.counts.get(name, 0) + 1
        if self.crash_at == (name, number, "before"):
            raise SimulatedCrash(name)
        if self.own_files:
            with self._traced(name):
                result = function()
        else:
            result = function()
        if self.crash_at == (name, number, "after"):
            raise SimulatedCrash(name)
        return result

    @contextmanager
    def _traced(self, name: str) -> Generator[None]:
        def trace(frame: FrameType, event: str, argument: object) -> Any:
            file = frame.f_code.co_filename
            if file not in self.own_files:
                return None
            if event == "line":
                calls = self.lines.setdefault((file, frame.f_lineno), [])
                calls.append(name)
                if self.crash_line == (file, frame.f_lineno, len(calls)):
                    raise SimulatedCrash(f"{file}:{frame.f_lineno}")
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(before)


class SinkRun:
    """A job with one sink. What the checkpoint directory holds survives `crash`; objects in memory do not."""

    def __init__(self, sink: Sink, codec: RecordCodec, records: Sequence[Any], directory: Path, log: CallLog) -> None:
        self._pickled = pickled_by_value(sink)
        self._codec = codec
        self._records = records
        self.log = log
        self.storage = LocalCheckpointStorage(str(directory / "checkpoint"))
        self.newest: EpochId | None = None
        self.tokens: dict[EpochId, Tokens] = {}
        """What the manifests name."""
        self._state: dict[str, Any] = {}
        """What the committer keeps, as of the newest manifest."""
        self.start()

    def start(self) -> None:
        """New objects, as in a new process."""
        self.sink: Sink = pickle.loads(self._pickled)
        self._committer: Committer | None = None
        self._publishers: dict[int, TokenPublisher] = {}

    def recover(self) -> None:
        """What a driver does at its start: asks the sink, and publishes the newest epoch again."""
        committer = self._committer = self.open_committer(self.sink)
        if committer is not None:
            self.log.call("recover", lambda: committer.recover(self.newest))
        if self.newest is not None:
            self.publish(self.newest)

    def crash(self, error: BaseException) -> None:
        """The end of the process: nothing is closed by the sink itself."""
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        self.start()
        # Connections of objects that are gone are closed, as those of a process that is gone.
        gc.collect()

    def run(self) -> None:
        """All epochs, going on after crashes."""
        while True:
            try:
                self.recover()
                while (number := 1 if self.newest is None else self.newest.number + 1) <= EPOCHS:
                    self.epoch(EpochId(1, number))
                self.close()
                return
            except SimulatedCrash as error:
                self.crash(error)

    def epoch(self, epoch: EpochId) -> None:
        """One epoch: written by all subtasks, named by the manifest, published."""
        staged = {subtask: self.stage(epoch, subtask) for subtask in range(SUBTASKS)}
        self.commit_manifest(epoch, staged)
        self.publish(epoch)

    def commit_manifest(self, epoch: EpochId, staged: Tokens) -> None:
        """From here on the epoch has happened."""
        committer, state = self._committer, dict(self._state)
        gathered: Mapping[int, Sequence[Token]] = staged
        if committer is not None:
            is_last = epoch.number == EPOCHS
            watermark = MAX_TIMESTAMP if is_last else MIN_TIMESTAMP
            end = EpochEnd(epoch, epoch.number * _EPOCH_MS, watermark, is_last, state)
            gathered = self.log.call("gather", lambda: committer.gather(staged, end))
        published = json.loads(json.dumps({subtask: list(tokens) for subtask, tokens in gathered.items() if tokens}))
        self.tokens[epoch] = {int(subtask): tokens for subtask, tokens in published.items()}
        self._state = json.loads(json.dumps(state))
        self.newest = epoch

    def records_of(self, epoch: EpochId, subtask: int) -> list[Any]:
        """The records that a subtask has in an epoch."""
        parts = EPOCHS * SUBTASKS
        part = (epoch.number - 1) * SUBTASKS + subtask
        return list(self._records[len(self._records) * part // parts : len(self._records) * (part + 1) // parts])

    def open_writer(self, epoch: EpochId, subtask: int, sink: Sink | None = None) -> SinkWriter:
        """A writer for a subtask."""
        staging = f"sinks/{epoch.incarnation}/{epoch.number}-0-{subtask}"
        context = SinkWriterContext(_JOB, _UID, subtask, SUBTASKS, epoch, self.storage, staging)
        return self.log.call("create_writer", lambda: (sink or self.sink).create_writer(context))

    def batches(self, epoch: EpochId, subtask: int, *, backwards: bool = False) -> list[Batch]:
        """A subtask's records as it writes them."""
        records = self.records_of(epoch, subtask)
        if backwards:
            records.reverse()
        edges = [len(records) * place // BATCHES for place in range(BATCHES + 1)]
        parts = [records[start:end] for start, end in pairwise(edges)]
        return [Batch(self._codec, values=part) for part in parts if part]

    def stage(self, epoch: EpochId, subtask: int, *, backwards: bool = False) -> list[Token]:
        """What a task does."""
        batches = self.batches(epoch, subtask, backwards=backwards)
        if not batches:
            return []
        writer = self.open_writer(epoch, subtask)
        for batch in batches:
            self.log.call("write", lambda batch=batch: writer.write(batch))
        return self.finish_writer(writer)

    def finish_writer(self, writer: SinkWriter) -> list[Token]:
        """The end of a task."""
        tokens = self.log.call("prepare_commit", writer.prepare_commit)
        self.log.call("close", writer.close)
        return json.loads(json.dumps(tokens))

    def publish(self, epoch: EpochId) -> None:
        """Publishes what the manifest names."""
        for subtask, tokens in self.tokens[epoch].items():
            publisher = self._publishers.get(subtask) or self.open_publisher(subtask)
            if publisher is not None:
                self._publishers[subtask] = publisher
                self.log.call("publish", lambda p=publisher, t=tokens: p.publish(epoch, t))
        committer, tokens = self._committer, self.all_tokens(epoch)
        if committer is not None and tokens:
            self.log.call("commit", lambda: committer.commit(epoch, tokens))

    def open_publisher(self, subtask: int, sink: Sink | None = None) -> TokenPublisher | None:
        """A publisher for a subtask, where the sink has such."""
        return (sink or self.sink).create_publisher(PublisherContext(_JOB, _UID, subtask, SUBTASKS, self.storage))

    def open_committer(self, sink: Sink) -> Committer | None:
        """A committer of another driver."""
        return sink.create_committer(CommitterContext(_JOB, _UID, self.storage, SUBTASKS))

    def another_sink(self) -> Sink:
        """The sink in another process."""
        return pickle.loads(self._pickled)

    def all_tokens(self, epoch: EpochId) -> list[Token]:
        """Those of all subtasks, as committers get them."""
        return [token for _, tokens in sorted(self.tokens[epoch].items()) for token in tokens]

    def close(self) -> None:
        """The end of the job."""
        for publisher in self._publishers.values():
            publisher.close()
        if self._committer is not None:
            self._committer.close()
        self.sink.close()

    def own_files(self) -> frozenset[str]:
        """The files of the sink's own code: those of its classes, and of their packages."""
        writer = self.sink.create_writer(
            SinkWriterContext(_JOB, _UID, 0, SUBTASKS, EpochId(1, 1), self.storage, "sinks/1/1-0-0")
        )
        parts = (self.sink, writer, self.open_publisher(0), self.open_committer(self.sink))
        classes = {base for part in parts if part is not None for base in type(part).__mro__}
        files: set[str] = set()
        for cls in classes:
            module = sys.modules[cls.__module__]
            if not issubclass(cls, (Sink, SinkWriter, TokenPublisher, Committer)) or module is _CONTRACT:
                continue
            file = module.__file__
            if file is not None:
                files.add(file)
                if module.__package__ not in ("", None, _CONTRACT.__package__):
                    files.update(map(str, Path(file).parent.glob("*.py")))
        writer.close()
        return frozenset(files)
