"""Drives a compiled pipeline by hand: records, watermarks, the clock, snapshots and restores, in this process."""

from __future__ import annotations

import inspect
import pickle
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from penstock.common.batch import Batch
from penstock.common.by_value import pickled_by_value
from penstock.common.codecs import codec_for
from penstock.common.configuration import Configuration
from penstock.common.errors import ArgumentError
from penstock.common.typeinfo import Types
from penstock.datastream import DataStream, KeyedStream, OutputTag, StreamExecutionEnvironment
from penstock.datastream.output_types import TypeHint
from penstock.datastream.transformation import Upstream
from penstock.engine.epochs.plan_description import describe_plan
from penstock.engine.stages.compiled import CompiledJob, compile_plan
from penstock.engine.stages.envelope import Envelope
from penstock.optimizer.pipeline import optimize
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK
from penstock.state.savepoints.header import OperatorDescription
from penstock.testing.capture import Capture, Emitted, ignore
from penstock.testing.chain_subtask import ChainSubtask, Entries
from penstock.testing.harness_restore import spread
from penstock.testing.script import check_time

_OUTPUT = "harness output"


@dataclass(frozen=True)
class HarnessSnapshot:
    """The state of a harness between two steps."""

    parallelism: int
    processing_time: int
    source_watermarks: tuple[int, ...]
    entries: dict[tuple[int, int], Entries]
    """What each subtask of each chain has in its store."""
    union_lists: dict[str, list[str]]
    """What functions have saved for all subtasks."""
    operators: tuple[OperatorDescription, ...]
    """What there was, for a harness with another parallelism."""


def harness(build: Callable[..., DataStream], *input_types: TypeHint, parallelism: int = 1) -> Harness:
    """A pipeline to be driven by hand. `build` takes a stream, or several, and returns one.

    `input_types` are the types of those streams; without them the records are any Python objects.

    >>> from penstock.datastream.window import TumblingEventTimeWindows
    >>> test = harness(lambda s: s.key_by(lambda v: v[0]).window(TumblingEventTimeWindows.of("10 s")).sum(1))
    >>> test.process_element(("a", 1), 1_000)
    >>> test.process_element(("a", 2), 2_000)
    >>> test.process_watermark(10_000)
    >>> test.output()
    [(('a', 3), 9999)]
    """
    return Harness(build, input_types, parallelism)


class Harness:
    """What `harness` returns. Every step is worked through at once, to the end of the pipeline.

    The clock starts at 0 and moves by `set_processing_time` only. Functions are copied, as for a worker: what they
    keep in `self` is gone after `restore`.
    """

    def __init__(self, build: Callable[..., DataStream], input_types: Sequence[TypeHint], parallelism: int) -> None:
        configuration = Configuration()
        configuration.set_string("execution.engine", "local")
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)
        count = len(inspect.signature(build).parameters)
        if len(input_types) > count:
            raise ArgumentError(f"harness: there are {len(input_types)} types for {count} streams")
        types = [*input_types, *[None] * (count - len(input_types))]
        inputs = [
            env.from_collection([], each or Types.PICKLED_BYTE_ARRAY()).uid(_input_uid(number))
            for number, each in enumerate(types)
        ]
        result = build(*inputs)
        if not isinstance(result, DataStream):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"harness: build returned {result!r} ({type(result).__name__}); expected a DataStream")
        self._output = Capture()
        self._side_outputs = _capture_side_outputs(result)
        plain = result.origin if isinstance(result, KeyedStream) else result
        plain.process(self._output).name(_OUTPUT).add_sink(ignore)
        self._job = pickled_by_value(compile_plan(optimize(env.get_plan("harness"))))
        self._codecs = [codec_for(stream.get_type()) for stream in inputs]
        self._metrics = MetricGroup()
        self._processing_time = 0
        self._parallelism = parallelism
        self._watermarks = [MIN_WATERMARK] * len(inputs)
        self._start({}, {})

    # --- steps

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """A record of the first stream."""
        self._process("process_element", 0, value, timestamp)

    process_element1 = process_element

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """A record of the second stream."""
        self._process("process_element2", 1, value, timestamp)

    process_broadcast_element = process_element2

    def process_watermark(self, watermark: int) -> None:
        """A watermark on all streams. One that is not above the last is ignored: event time never goes back."""
        for number in range(len(self._watermarks)):
            self._watermark("process_watermark", number, watermark)

    def process_watermark1(self, watermark: int) -> None:
        """A watermark on the first stream."""
        self._watermark("process_watermark1", 0, watermark)

    def process_watermark2(self, watermark: int) -> None:
        """A watermark on the second stream."""
        self._watermark("process_watermark2", 1, watermark)

    def set_processing_time(self, now: int) -> None:
        """Sets the clock, and fires what is due.

        As in Flink's runtime a window of processing time is over when the clock shows its end, not its last
        millisecond: `[0, 10)` fires at 10.
        """
        check_time("set_processing_time", "now", now)
        if now < self._processing_time:
            raise ArgumentError(
                f"set_processing_time: now is {now}, and the clock shows {self._processing_time}; expected a time that "
                "is not before it"
            )
        self._processing_time = now
        for subtask in self._subtasks.values():
            subtask.set_processing_time(now)
            self._pass_on(subtask)

    def close(self) -> None:
        """The end of all streams: event time goes to its end, then the functions are closed."""
        if self._is_closed:
            return
        self._is_closed = True
        for number in range(len(self._watermarks)):
            source = self._source(number)
            source.watermark_from_source(MAX_WATERMARK)
            source.end_source()
            self._pass_on(source)
        for subtask in self._subtasks.values():
            subtask.close()

    # --- what came of it

    def output(self) -> list[Emitted]:
        """The records that came out since the last call, each with its timestamp."""
        return self._output.taken()

    def side_output(self, tag: OutputTag) -> list[Emitted]:
        """The records that went to a side output since the last call. The tag must be made before the harness is."""
        if tag.tag_id not in self._side_outputs:
            raise ArgumentError(f"side_output: {tag!r} was not there when the harness was made; make the tag before it")
        return self._side_outputs[tag.tag_id].taken()

    @property
    def watermark(self) -> int:
        """How far event time has come at the end of the pipeline."""
        found = (subtask.watermark_of(_OUTPUT) for subtask in self._subtasks.values())
        return min(watermark for watermark in found if watermark is not None)

    def counter(self, name: str) -> int:
        """A counter, summed over all operators; it is not set back by `restore`."""
        counters = self._metrics.snapshot()["counters"]
        return sum(count for metric, count in counters.items() if metric.rpartition(".")[2] == name)

    # --- snapshots

    def snapshot(self) -> HarnessSnapshot:
        """The state between two steps."""
        entries = {place: subtask.snapshot(self._processing_time) for place, subtask in self._subtasks.items()}
        lists: dict[str, list[str]] = {}
        for _, subtask in sorted(self._subtasks.items()):
            for name, text in subtask.union_lists().items():
                lists.setdefault(name, []).append(text)
        place = self._parallelism, self._processing_time, tuple(self._watermarks)
        return HarnessSnapshot(*place, entries, lists, describe_plan(pickle.loads(self._job)))

    def restore(self, snapshot: HarnessSnapshot) -> None:
        """Goes on from a snapshot, with new operators. The clock is where it was then.

        The snapshot may be of a harness with another parallelism: its state is spread over the subtasks of this one.
        """
        if not isinstance(snapshot, HarnessSnapshot):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"restore: {snapshot!r} is no snapshot of a harness; expected what snapshot() returned")
        entries = snapshot.entries
        if snapshot.parallelism != self._parallelism:
            entries = spread(snapshot.operators, entries, snapshot.union_lists, pickle.loads(self._job))
        self._processing_time = snapshot.processing_time
        self._watermarks = list(snapshot.source_watermarks)
        self._start(entries, snapshot.union_lists)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()

    # --- inside

    def _start(self, entries: dict[tuple[int, int], Entries], union_lists: dict[str, list[str]]) -> None:
        job: CompiledJob = pickle.loads(self._job)
        subtasks = max(chain.parallelism for chain in job.chains)
        copies: list[CompiledJob] = [job, *(pickle.loads(self._job) for _ in range(1, subtasks))]
        self._edges = {edge.number: edge for edge in job.edges}
        self._target_chain = {edge.number: chain.number for chain in job.chains for edge in chain.inputs}
        self._source_chain = {chain.head.uid: chain.number for chain in job.chains}
        self._subtasks = {
            (chain.number, number): ChainSubtask(
                chain, number, self._processing_time, self._metrics, entries.get((chain.number, number)), union_lists
            )
            # A copy for every subtask, as every worker has its own: they share no functions.
            for number, copy in enumerate(copies)
            for chain in copy.chains
            if number < chain.parallelism
        }
        for number, watermark in enumerate(self._watermarks):
            self._source(number).restore_source(watermark)
        self._is_closed = False

    def _source(self, number: int) -> ChainSubtask:
        return self._subtasks[self._source_chain[_input_uid(number)], 0]

    def _running_source(self, step: str, number: int) -> ChainSubtask:
        if self._is_closed:
            raise ArgumentError(f"{step}: the streams have ended, by close(); restore(...) goes back before that")
        if number >= len(self._watermarks):
            raise ArgumentError(f"{step}: build takes one stream; there is no second one")
        return self._source(number)

    def _process(self, step: str, number: int, value: Any, timestamp: int | None) -> None:
        source = self._running_source(step, number)
        if timestamp is not None:
            check_time(step, "timestamp", timestamp)
        stamps: list[int | None] | None = None if timestamp is None else [timestamp]
        source.emit_from_source(Batch(self._codecs[number], values=[value], timestamps=stamps))
        self._pass_on(source)

    def _watermark(self, step: str, number: int, watermark: int) -> None:
        source = self._running_source(step, number)
        check_time(step, "watermark", watermark)
        self._watermarks[number] = max(watermark, self._watermarks[number])
        source.watermark_from_source(watermark)
        self._pass_on(source)

    def _pass_on(self, sender: ChainSubtask) -> None:
        """Hands what a chain has sent to the chains that it is meant for, and so on, to the end."""
        sender.flush()
        waiting: deque[Envelope] = deque(sender.rows)
        sender.rows.clear()
        while waiting:
            row = waiting.popleft()
            target = self._subtasks[self._target_chain[row.edge], row.target]
            target.take(row, self._edges[row.edge])
            target.flush()
            waiting += target.rows
            target.rows.clear()


def _input_uid(number: int) -> str:
    return f"harness input {number}"


def _capture_side_outputs(result: DataStream) -> dict[str, Capture]:
    """A capture for every tag that there is: which of them functions use is known to nobody."""
    program = result.program
    known = {tag.tag_id for tag in OutputTag.made}
    captures = {tag: Capture() for tag in sorted(known)}
    for operator in [each for each in program.transformations if each.emits_side_outputs]:
        for tag, capture in captures.items():
            operator.side_outputs.setdefault(tag, Types.PICKLED_BYTE_ARRAY())
            program.data_stream((Upstream(operator, tag),)).process(capture).add_sink(ignore)
    return captures
