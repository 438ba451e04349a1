"""How a task ends: its `Done` message, or the rows that abort the epoch."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence

from penstock.common.errors import FailureReport, PenstockError, UserFunctionError
from penstock.engine.stages.chain import ChainInstance
from penstock.engine.stages.envelope import NO_EDGE, Envelope, Kind
from penstock.engine.stages.epoch_header import EpochHeader
from penstock.engine.stages.messages import Done, failure_to_bytes
from penstock.runtime.failures import user_traceback


def message_row(done: Done) -> Envelope:
    """A `Done` message on its way to the driver."""
    return Envelope(done.subtask, NO_EDGE, done.subtask, done.stage, int(Kind.MESSAGE), done.to_bytes())


def abort_rows(
    error: Exception | SystemExit, parallelism: Sequence[int], *, stage: int, subtask: int, header: EpochHeader
) -> Iterator[Envelope]:
    """The report for the driver, and for every task of the next stage the word that the epoch is lost.

    `parallelism` is that of each stage of the job.
    """
    if isinstance(error, UserFunctionError):
        report = error.report
    else:
        report = FailureReport(
            error_type=type(error).__name__,
            message=str(error),
            traceback=_traceback(error),
            epoch=header.epoch.number,
            stage=stage,
            subtask=subtask,
        )
    yield Envelope(subtask, NO_EDGE, subtask, stage, int(Kind.FAILURE), failure_to_bytes(report))
    yield from abort_markers(parallelism, stage, subtask)


def _traceback(error: Exception | SystemExit) -> str:
    """What a person needs of it: nothing where the message says all, the program's lines where it has ended itself."""
    if isinstance(error, PenstockError):
        return ""
    if isinstance(error, SystemExit):
        return user_traceback(error)
    return "".join(traceback.format_exception(error))


def abort_markers(parallelism: Sequence[int], stage: int, subtask: int) -> Iterator[Envelope]:
    """Tells every task of the next stage not to work on what is left of the epoch."""
    if stage + 1 < len(parallelism):
        for target in range(max(parallelism[stage + 1 :])):
            yield Envelope(target, NO_EDGE, subtask, stage, int(Kind.ABORT), b"")


def collect_watermarks(chains: Iterable[ChainInstance]) -> dict[str, int]:
    """How far event time has come behind every operator of some chains, by uid."""
    return {node.uid: chain.watermarks[node.id] for chain in chains for node in chain.chain.nodes}


def taken_times(chains: Iterable[ChainInstance]) -> dict[str, float]:
    """How many ms each operator of some chains has worked since this was last asked, by uid."""
    return {uid: ms for chain in chains for uid, ms in chain.times.take().items()}


def collect_counts(chains: Iterable[ChainInstance]) -> dict[str, dict[str, int]]:
    """Records in and out of every operator of some chains, and those that were dropped as late."""
    return {uid: counts.to_json() for chain in chains for uid, counts in chain.counts()}
