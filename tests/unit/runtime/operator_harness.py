"""Drives one operator subtask by hand: epochs, records, time, and restarts between any two steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.connectors.sink import EpochId
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.operator import Operator, OperatorContext
from penstock.state.key_encoding import encode_key
from penstock.state.memory import MemoryStore

ANY = codec_for(None)


class CollectingOutput:
    """Keeps what an operator sends: (value, timestamp) by output; the main output is None."""

    def __init__(self) -> None:
        self.sent: list[tuple[str | None, Any, int | None]] = []
        self.batch_sizes: list[int] = []
        self.log: list[Any] = []
        """Values of the main output, and between them what the operator itself says of time."""

    def emit(self, batch: Batch) -> None:
        self._take(None, batch)

    def emit_side(self, tag: str, batch: Batch) -> None:
        self._take(tag, batch)

    def emit_watermark(self, watermark: int) -> None:
        self.log.append(("watermark", watermark))

    def emit_idle(self) -> None:
        self.log.append("idle")

    def _take(self, tag: str | None, batch: Batch) -> None:
        self.batch_sizes.append(len(batch))
        timestamps = batch.timestamps or [None] * len(batch)
        if tag is None:
            self.log += batch.values
        self.sent += [(tag, value, stamp) for value, stamp in zip(batch.values, timestamps, strict=True)]


class Harness:
    """A subtask. With `restarts`, every step is an epoch of its own, after which all but the store is gone."""

    def __init__(self, make_operator: Callable[[], Operator], *, restarts: bool = False, storage: Any = None) -> None:
        self.make_operator = make_operator
        self.restarts = restarts
        self.store = MemoryStore()
        self.output = CollectingOutput()
        self.context = OperatorContext(
            job_id="job",
            job_name="Job",
            name="Sessions",
            uid="sessions",
            subtask=1,
            parallelism=4,
            max_parallelism=128,
            attempt=0,
            call_site="program.py:7: stream.process(...)",
            output=self.output,
            store=self.store,
            storage=storage,
            metrics=MetricGroup(),
            epoch=EpochId(1, 1),
            staging="staging/1",
            processing_time=1_000,
            job_parameters={"region": "north"},
        )
        self.operator = make_operator()
        self.operator.open(self.context)
        self.operator.begin_epoch()

    def process(
        self, values: Sequence[Any], *, key: Callable[[Any], Any] | None = None, timestamps: Any = None, on: int = 0
    ) -> None:
        keys = None if key is None else [encode_key(key(value)) for value in values]
        self.operator.process(Batch(ANY, values=list(values), timestamps=timestamps, keys=keys), on)
        self._step_done()

    def watermark(self, watermark: int) -> None:
        self.operator.advance_watermark(watermark)
        self._step_done()

    def clock(self, now: int) -> None:
        self.context.processing_time = now
        self.operator.advance_processing_time(now)
        self._step_done()

    def end_epoch(self) -> None:
        self.operator.snapshot_function()
        self.operator.end_epoch()
        self.context.union_lists = {key: [text] for key, text in self.operator.union_lists().items()}
        self.context.restored_epoch = self.context.epoch.number
        changes = self.store.changes()
        self.store.discard_changes()
        self.store.apply(changes, f"epoch {self.context.epoch}")
        self.context.epoch = EpochId(1, self.context.epoch.number + 1)
        self.operator.begin_epoch()

    def restart(self) -> None:
        watermark = self.operator.current_watermark
        self.end_epoch()
        self.operator = self.make_operator()
        self.operator.open(self.context)
        self.operator.restore_watermark(watermark)
        self.operator.begin_epoch()

    def taken(self, tag: str | None = None) -> list[tuple[Any, int | None]]:
        """What was sent to an output since the last call, with timestamps."""
        taken = [(value, stamp) for sent_tag, value, stamp in self.output.sent if sent_tag == tag]
        self.output.sent = [each for each in self.output.sent if each[0] != tag]
        return taken

    def values(self, tag: str | None = None) -> list[Any]:
        """What was sent to an output since the last call."""
        return [value for value, _ in self.taken(tag)]

    def _step_done(self) -> None:
        if self.restarts:
            self.restart()
