"""A source whose records a function of the program brings, in the driver."""

from __future__ import annotations

import base64
import copy
import pickle
import shutil
import traceback
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.common.batch import Batch
from penstock.common.by_value import pickled_by_value
from penstock.common.codecs import codec_for
from penstock.common.errors import FailureReport, TypeMismatchError, UserFunctionError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.running_source import Collected, RunningSource
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.connectors.staged_records import pack_records, unpack_records
from penstock.functions.source_function import CheckpointedSourceFunction, SourceFunction

_SPLIT = "0"
_POSITION = "position"
_STATE = "state"
_ENDED = "ended"


class FunctionSource(Source):
    """Runs a `SourceFunction` in a thread of the driver, as one split.

    Its records are written to the checkpoint directory and read from there by a task. A plain function starts from the
    beginning after a restart; a `CheckpointedSourceFunction` goes on from its state as of the last committed epoch.
    """

    def __init__(self, function: SourceFunction, type_info: TypeInformation, *, bounded: bool = False) -> None:
        # Pickled now: each run starts from a copy as the program made it, and what cannot travel fails here.
        self._pickled: bytes = pickled_by_value(function)
        self._function_name = type(function).__name__
        self._type_info = type_info
        self._bounded = bounded
        self._directory = ""

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED if self._bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def prepared(self, directory: str) -> Source:
        """The source with a place for its records."""
        source = copy.copy(self)
        source._directory = directory
        return source

    def new_function(self) -> SourceFunction:
        """A new copy of the function, as the program made it."""
        return pickle.loads(self._pickled)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _FunctionEnumerator(self, Path(self._directory), context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _FunctionReader(self._type_info)

    def describe(self) -> str:  # noqa: D102
        return f"source function {self._function_name}"


class _FunctionEnumerator(SplitEnumerator):
    def __init__(self, source: FunctionSource, directory: Path, context: EnumeratorContext) -> None:
        self._source = source
        self._directory = directory
        self._state = context.state
        self._bounded = context.bounded
        self._context = context
        self._codec = codec_for(source.produced_type)
        self._running: RunningSource | None = None
        self._written: list[Path] = []

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        if self.is_exhausted():
            return []
        self._remove_read()
        running = self._running or self._start(budget)
        files: list[str] = []
        count = 0
        while True:
            collected = running.take(wait=self._bounded)
            if collected.failure is not None:
                raise self._failed(collected.failure)
            if collected.values or collected.watermarks:
                files.append(self._write(collected))
                count += len(collected.values)
            if collected.ended or not self._bounded:
                break
        if not files and not collected.ended:
            return []
        start = self._state.get(_POSITION, 0)
        self._state[_POSITION] = start + count
        if isinstance(running.function, CheckpointedSourceFunction):
            self._state[_STATE] = base64.b64encode(collected.state).decode()
        if collected.ended:
            self._state[_ENDED] = True
        descriptor = {"files": files}
        return [SplitRead(_SPLIT, start, start + count, descriptor, finishes=collected.ended, size=max(1, count))]

    def is_exhausted(self) -> bool:
        return bool(self._state.get(_ENDED))

    def close(self) -> None:
        if self._running is not None:
            self._running.stop()
        self._remove_read()

    def _start(self, budget: EpochBudget) -> RunningSource:
        # What an earlier start has left is of no use any more: the job is ours by now.
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir(parents=True)
        function = self._source.new_function()
        if isinstance(function, CheckpointedSourceFunction) and _STATE in self._state:
            function.restore_state(pickle.loads(base64.b64decode(self._state[_STATE])))
        self._running = RunningSource(function, self._context.operator, budget.max_records)
        self._running.start()
        return self._running

    def _write(self, collected: Collected) -> str:
        try:
            content = pack_records(Batch(self._codec, values=collected.values))
        except TypeMismatchError as error:
            record = None if error.index is None else repr(collected.values[error.index])[:500]
            raise UserFunctionError(self._report(error, record)) from error
        path = self._directory / uuid.uuid4().hex
        path.write_bytes(pickle.dumps((content, collected.timestamps, collected.watermarks)))
        self._written.append(path)
        return str(path)

    def _remove_read(self) -> None:
        """Removes what was handed out before: nobody asks for it again once its epoch is committed or lost."""
        for path in self._written:
            path.unlink(missing_ok=True)
        self._written.clear()

    def _failed(self, error: BaseException) -> UserFunctionError:
        failure = UserFunctionError(self._report(error))
        failure.__cause__ = error
        return failure

    def _report(self, error: BaseException, record: str | None = None) -> FailureReport:
        return FailureReport(
            error_type=type(error).__qualname__,
            message=str(error),
            traceback="".join(traceback.format_exception(error)),
            operator=self._context.operator,
            uid=self._context.uid,
            call_site=self._context.call_site or None,
            record=record,
        )


class _FunctionReader(SplitReader):
    def __init__(self, type_info: TypeInformation) -> None:
        self._codec = codec_for(type_info)

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        for path in read.descriptor["files"]:
            content, timestamps, watermarks = pickle.loads(Path(path).read_bytes())
            values: list[Any] = unpack_records(content, self._codec)
            start = 0
            for place, time in (*watermarks, (len(values), None)):
                if place > start:
                    times = None if timestamps is None else timestamps[start:place]
                    yield Batch(self._codec, values=values[start:place], timestamps=times)
                    start = place
                if time is not None:
                    self.watermark = time
        self.position = read.end
        self.finished = read.finishes
