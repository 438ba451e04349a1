"""Runs a pipeline on the local engine as a case of the fuzzer says, through its crashes to its end."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.common import fail_points
from penstock.common.configuration import Configuration
from penstock.common.fail_points import SimulatedCrash
from penstock.common.typeinfo import Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from penstock.datastream.output_types import TypeHint
from penstock.functions import ProcessFunction
from penstock.testing.capture import Emitted
from penstock.testing.fuzz_case import IDLE_AFTER, FuzzCase, Records
from penstock.testing.memory_sink import MemorySink
from penstock.testing.scripted_source import ScriptedSource
from penstock.testing.virtual_clock import VirtualClock, local_environment

_PATIENCE_SECONDS = 120
_MEMORY = Path("/dev/shm")  # noqa: S108  only ever the parent of a temporary directory


@dataclass
class Outcome:
    """What came of a case."""

    records: list[Emitted]
    crashed_at: list[str] = field(default_factory=list[str])
    """The steps at which runs crashed."""


class _CrashAtStep:
    """Raises at the n-th step, and at every later one: a dead process takes no more steps."""

    def __init__(self, step: int) -> None:
        self._left = step

    def __call__(self, name: str) -> None:
        self._left -= 1
        if self._left <= 0:
            raise SimulatedCrash(name)


class _WithTimestamp(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Emitted]:
        return ((value, ctx.timestamp()),)


def _run_to_its_end(env: StreamExecutionEnvironment) -> None:
    client = env.execute_async("fuzz")
    try:
        client.wait(_PATIENCE_SECONDS)
    except TimeoutError:
        client.cancel()
        raise


@dataclass(frozen=True)
class Pipeline:
    """What is fuzzed: a pipeline and all the input it can have."""

    build: Callable[..., DataStream]
    inputs: Sequence[Records]
    types: Sequence[TypeHint]
    disorder: int

    def run(self, case: FuzzCase) -> Outcome:
        """Runs the pipeline to its end, again after every crash."""
        sink = MemorySink()
        clock = VirtualClock()
        crashed_at: list[str] = []
        # In memory where the system has a place for that: a run waits for many small writes.
        with tempfile.TemporaryDirectory(prefix="penstock-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None) as place:
            for step in (*case.crashes, None):
                fail_points.arm(None if step is None else _CrashAtStep(step))
                try:
                    _run_to_its_end(self._environment(case, sink, clock, place))
                except SimulatedCrash as crash:
                    crashed_at.append(str(crash))
                else:
                    break
                finally:
                    fail_points.arm(None)
        return Outcome(sink.records, crashed_at)

    def _environment(
        self, case: FuzzCase, sink: MemorySink, clock: VirtualClock, checkpoint: str
    ) -> StreamExecutionEnvironment:
        configuration = Configuration()
        configuration.set_string("execution.checkpointing.dir", checkpoint)
        configuration.set_string("logging.level", "warning")
        # What the pipeline raises is its answer. Restarts cost no time on this clock: there would be no end of them.
        configuration.set_string("restart-strategy.type", "none")
        if case.epoch_records is not None:
            configuration.set_string("execution.epoch.max-records", str(case.epoch_records))
        env = local_environment(configuration, clock=clock, parallelism=case.parallelism)
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(self.disorder).with_idleness(IDLE_AFTER)
        streams = [
            env.from_source(ScriptedSource(*case.scripts(number, records), type_info=self.types[number]), strategy)
            for number, records in enumerate(self.inputs)
        ]
        result = self.build(*streams)
        plain = result.origin if isinstance(result, KeyedStream) else result
        plain.process(_WithTimestamp(), Types.PICKLED_BYTE_ARRAY()).sink_to(sink)
        return env
