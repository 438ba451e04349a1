"""Says what a sink may promise, by trying it."""

from __future__ import annotations

import gc
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.common.codecs import codec_for
from penstock.common.errors import ArgumentError, PenstockError
from penstock.common.typeinfo import Types
from penstock.connectors.sink import DeliveryGuarantee, Sink
from penstock.datastream.output_types import TypeHint, type_from_hint
from penstock.testing.sink_run import EPOCHS, SUBTASKS, CallLog, SinkRun
from penstock.testing.sink_trials import PROTOCOL, Trial, crashes_at_calls, crashes_inside

NewTarget = Callable[[Path], tuple[Sink, Callable[[], Iterable[Any]]]]
"""Makes a new and empty target; returns the sink for it, and what reads the records that the target shows."""

STRENGTH = {DeliveryGuarantee.NONE: 0, DeliveryGuarantee.AT_LEAST_ONCE: 1, DeliveryGuarantee.EXACTLY_ONCE: 2}
"""Which promise holds more than which."""
_SHOWN = 4
# Hundreds of trials wait for the disk; processes crash in them, and never the machine.
_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108


@dataclass(frozen=True)
class TrialResult:
    """What the target showed after a trial, against one write of every record."""

    trial: str
    lost: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    error: str | None = None

    @property
    def allows(self) -> DeliveryGuarantee:
        """The most that the sink may promise after this."""
        if self.lost or self.error is not None:
            return DeliveryGuarantee.NONE
        return DeliveryGuarantee.AT_LEAST_ONCE if self.repeated else DeliveryGuarantee.EXACTLY_ONCE

    def __str__(self) -> str:
        told = [
            f"{len(records)} {what}: {', '.join(records[:_SHOWN])}{', ...' if len(records) > _SHOWN else ''}"
            for what, records in (("lost", self.lost), ("too many", self.repeated))
            if records
        ]
        if self.error is not None:
            told.append(self.error)
        return f"{self.trial}: {'; '.join(told) or 'every record once'}"


@dataclass(frozen=True)
class TrialReport:
    """What the trials of a connector found."""

    results: tuple[TrialResult, ...]

    @property
    def may_promise(self) -> DeliveryGuarantee:
        """What held in every trial."""
        return min((result.allows for result in self.results), key=STRENGTH.__getitem__)

    @property
    def evidence(self) -> tuple[TrialResult, ...]:
        """The trials after which something was lost or there more than once."""
        return tuple(result for result in self.results if result.allows is not DeliveryGuarantee.EXACTLY_ONCE)

    def told(self, may: str) -> str:
        """The report for people; `may` says what may be promised."""
        heading = f"{may}: {len(self.results)} trials, {len(self.evidence)} of them without every record once"
        return "\n".join([heading, *(f"  - {result}" for result in self.evidence)])


@dataclass(frozen=True)
class SinkReport(TrialReport):
    """What `check_sink` found."""

    declared: DeliveryGuarantee

    def __str__(self) -> str:
        return self.told(f"the sink may promise {self.may_promise.value}, and declares {self.declared.value}")


def check_sink(
    new_target: NewTarget, records: Sequence[Any], type_info: TypeHint = None, *, inside: bool = True
) -> SinkReport:
    """Runs a sink through replays, crashes and concurrent writers, and says what it may promise.

    `new_target(directory)` makes a new and empty target (files may go into `directory`) and returns the sink for it
    and a function that reads what the target shows. `records` are written in three epochs by two subtasks, so there
    should be a dozen; with `type_info` they are of that type. The trials:

    - a crash before and after each call: `create_writer`, `write`, `prepare_commit`, `close`, `recover`, `gather`,
      `publish`, `commit`; with `inside`, also at every line of the sink's own code;
    - tasks that are done again, epochs that are published again, soon or late;
    - several writers, attempts and publishers at the same time.

    Raises an `AssertionError` with the evidence when the sink declares more than held; else returns the report.
    """
    __tracebackhide__ = True
    if len(records) < EPOCHS * SUBTASKS:
        raise ArgumentError(
            f"check_sink: {len(records)} records are too few for {EPOCHS} epochs of {SUBTASKS} subtasks; "
            f"give {EPOCHS * SUBTASKS * 2} or so"
        )
    # After every crash garbage is collected: what is there already need not be looked at each time.
    gc.freeze()
    try:
        report = _Check(new_target, records, type_info).report(inside)
    finally:
        gc.unfreeze()
    if STRENGTH[report.declared] > STRENGTH[report.may_promise]:
        raise AssertionError(str(report))
    return report


class _Check:
    def __init__(self, new_target: NewTarget, records: Sequence[Any], type_info: TypeHint) -> None:
        self._new_target = new_target
        self._records = records
        self._type = Types.PICKLED_BYTE_ARRAY()
        if type_info is not None:
            self._type = type_from_hint("check_sink", "type_info", type_info)
        self._codec = codec_for(self._type)
        self._declared = DeliveryGuarantee.NONE
        self._own_files: frozenset[str] = frozenset()

    def report(self, inside: bool) -> SinkReport:
        results = [self._tried(trial)[0] for trial in PROTOCOL]
        clean = Trial("no failure", SinkRun.run, lambda: CallLog(own_files=self._own_files if inside else frozenset()))
        _, log = self._tried(clean)
        results += [self._tried(trial)[0] for trial in crashes_at_calls(log.counts)]
        results += [self._tried(trial)[0] for trial in crashes_inside(log.lines, self._own_files)]
        return SinkReport(tuple(results), self._declared)

    def _tried(self, trial: Trial) -> tuple[TrialResult, CallLog]:
        log = trial.log()
        with tempfile.TemporaryDirectory(prefix="penstock-check-sink-", dir=_MEMORY) as directory:
            root = Path(directory)
            target = root / "target"
            target.mkdir()
            sink, visible = self._new_target(target)
            sink = sink.for_records(self._type)
            self._declared = sink.guarantee
            run = SinkRun(sink, self._codec, self._records, root, log)
            if not self._own_files:
                self._own_files = run.own_files()
            try:
                trial.run(run)
            except Exception as error:
                if trial is PROTOCOL[0] and not isinstance(error, PenstockError):
                    raise  # a mistake that has nothing to do with failures: its traceback says most
                return TrialResult(trial.name, error=f"the sink cannot go on: {type(error).__name__}: {error}"), log
            expected, seen = Counter(map(repr, self._records)), Counter(map(repr, visible()))
        return TrialResult(trial.name, listed(expected - seen), listed(seen - expected)), log


def listed(records: Counter[str]) -> tuple[str, ...]:
    """The records, each as often as it is there."""
    return tuple(sorted(records.elements()))
