"""Rows that carry nothing: they wake up the tasks of the next stage when there are no records."""

from __future__ import annotations

from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.envelope import NO_EDGE, Envelope, Kind


def partitions_of(job: CompiledJob, stage: int) -> int:
    """How many tasks a stage behind the first has: some may only pass on what is meant for later stages."""
    return max(job.stage_parallelism[stage:])


def tick_rows(job: CompiledJob, stage: int, subtask: int) -> list[Envelope]:
    """One for each task of the next stage; none behind the last."""
    if stage + 1 >= len(job.stage_parallelism):
        return []
    return [
        Envelope(target, NO_EDGE, subtask, 0, int(Kind.TICK), b"") for target in range(partitions_of(job, stage + 1))
    ]
