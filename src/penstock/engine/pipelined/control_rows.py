"""Rows that carry nothing: they say that time has passed, that an epoch is over, or that others are not to wait."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.engine.stages.envelope import NO_EDGE, Envelope, Kind


def partitions_of(parallelism: Sequence[int], stage: int) -> int:
    """How many tasks a stage has, by the parallelism of all; behind the first, some may only pass on what is meant
    for later ones."""
    return parallelism[0] if stage == 0 else max(parallelism[stage:])


def tick_rows(parallelism: Sequence[int], stage: int, subtask: int, listened_ms: int) -> list[Envelope]:
    """They wake up the tasks of the next stage when there are no records, and say how long the sender has listened."""
    return _to_all(parallelism, stage, subtask, Kind.TICK, listened_ms)


def end_rows(parallelism: Sequence[int], stage: int, subtask: int) -> list[Envelope]:
    """They say that a task has sent all that it has in this epoch."""
    return _to_all(parallelism, stage, subtask, Kind.END_OF_EPOCH)


def pushed(rows: list[Envelope]) -> list[Envelope]:
    """Rows that nothing follows for now, and what makes Spark hand them over all the same."""
    targets = dict.fromkeys(row.target for row in rows)
    return [*rows, *(Envelope(target, NO_EDGE, 0, 0, int(Kind.PUSH), b"") for target in targets)]


def _to_all(parallelism: Sequence[int], stage: int, subtask: int, kind: Kind, number: int = 0) -> list[Envelope]:
    """One for each task of the next stage; none behind the last."""
    if stage + 1 >= len(parallelism):
        return []
    targets = range(partitions_of(parallelism, stage + 1))
    return [Envelope(target, NO_EDGE, subtask, number, int(kind), b"") for target in targets]
