"""Says what a source may promise, by trying it."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from penstock.common.errors import ArgumentError, PenstockError
from penstock.connectors.sink import DeliveryGuarantee
from penstock.connectors.source import Boundedness, Source
from penstock.testing.check_sink import STRENGTH, TrialReport, TrialResult, listed
from penstock.testing.source_run import ContractError, SourceRun


class SourceReport(TrialReport):
    """What `check_source` found."""

    def __str__(self) -> str:
        return self.told(f"the source may promise {self.may_promise.value}")


_TRIALS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a restart after every epoch", {"restarts": True}),
    ("every epoch is lost, and read again by others", {"loses_epochs": True}),
    ("every epoch is lost in the middle of a read", {"breaks_reads": True}),
    ("restarts with another parallelism", {"restarts": True, "parallelisms": (2, 1, 3)}),
    ("one large epoch", {"records_per_epoch": 1 << 30}),
)


def check_source(
    new_source: Callable[[], Source] | Source,
    expected: Iterable[Any] | None = None,
    *,
    promise: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
    records_per_epoch: int = 3,
) -> SourceReport:
    """Reads a source with restarts and lost epochs in every place, and says what it may promise.

    `new_source` is the source, or a function that makes it, called once per trial. `expected` are the records that it
    holds, in any order; without, what a run without failures reads is right. A source without an end is read until
    nothing comes for a while: nothing may be added to it meanwhile. Epochs read about `records_per_epoch` records. The
    trials:

    - a restart after every epoch, from what a checkpoint holds: positions are JSON, nothing else is remembered, splits
      that are found again are not read again;
    - every epoch is lost before it is committed, as a whole or in the middle of a read, and read again by other
      readers, in another order: the same read gives the same records;
    - restarts with another parallelism; one large epoch; batch execution, where the source is bounded.

    Raises an `AssertionError` with the evidence when less than `promise` held; else returns the report.
    """
    __tracebackhide__ = True
    if not isinstance(new_source, Source) and not callable(new_source):  # pyright: ignore[reportUnnecessaryCallable]
        raise ArgumentError(f"check_source: expected a source, or a function that makes one, got {new_source!r}")
    check = _Check(new_source, records_per_epoch)
    truth = check.straight_run(None if expected is None else Counter(map(repr, expected)))
    for name, faults in _TRIALS:
        check.try_out(name, faults, truth)
    if check.is_bounded:
        check.try_out("batch execution", {"batch": True}, truth)
    report = SourceReport(tuple(check.results))
    if STRENGTH[report.may_promise] < STRENGTH[promise]:
        raise AssertionError(str(report))
    return report


class _Check:
    def __init__(self, new_source: Callable[[], Source] | Source, records_per_epoch: int) -> None:
        self._new_source = new_source
        self._records_per_epoch = records_per_epoch
        self.results: list[TrialResult] = []
        self.is_bounded = False

    def straight_run(self, expected: Counter[str] | None) -> Counter[str]:
        """A run without failures; returns the right records. What it raises is a mistake that any job would show."""
        with tempfile.TemporaryDirectory(prefix="penstock-check-source-") as directory:
            run = self._run_in(directory)
            self.is_bounded = run.source.boundedness is Boundedness.BOUNDED
            seen = Counter(run.run().records)
        truth = seen if expected is None else expected
        self.results.append(TrialResult("no failure", listed(truth - seen), listed(seen - truth)))
        return truth

    def try_out(self, name: str, faults: dict[str, Any], expected: Counter[str]) -> None:
        """A run with failures."""
        with tempfile.TemporaryDirectory(prefix="penstock-check-source-") as directory:
            run = self._run_in(directory, **faults)
            try:
                seen = Counter(run.run().records)
            except (PenstockError, ContractError) as problem:
                self.results.append(TrialResult(name, error=f"{type(problem).__name__}: {problem}"))
                return
        self.results.append(TrialResult(name, listed(expected - seen), listed(seen - expected)))

    def _run_in(self, directory: str, **faults: Any) -> SourceRun:
        source = self._new_source if isinstance(self._new_source, Source) else self._new_source()
        options: dict[str, Any] = {"records_per_epoch": self._records_per_epoch, **faults}
        return SourceRun(source.prepared(directory), **options)
