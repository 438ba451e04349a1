"""Whether an epoch is whole: one `Done` from every task, and every record that was sent was received."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from penstock.common.errors import IncompleteEpochError
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.messages import Done


def check_complete(job: CompiledJob, source_tasks: int, messages: Iterable[Done]) -> list[Done]:
    """The messages by stage and subtask; raises if one is missing or there twice, or records were lost on the way."""
    done = sorted(messages, key=lambda message: (message.stage, message.subtask))
    present = Counter((message.stage, message.subtask) for message in done)
    expected = {(0, task) for task in range(source_tasks)}
    expected |= {(stage, subtask) for stage in job.stages[1:] for subtask in range(job.stage_parallelism[stage])}
    missing = sorted(expected - present.keys())
    unexpected = sorted(key for key, count in present.items() if count > 1 or key not in expected)
    if missing or unexpected:
        raise IncompleteEpochError(
            f"the epoch is not whole: no word from (stage, subtask) {missing}, too much from {unexpected}"
        )
    _check_counts(job, done)
    return done


def _check_counts(job: CompiledJob, done: Sequence[Done]) -> None:
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    for message in done:
        sent.update({int(edge): count for edge, count in message.sent.items()})
        received.update({int(edge): count for edge, count in message.received.items()})
    for edge in job.edges:
        if sent[edge.number] != received[edge.number]:
            raise IncompleteEpochError(
                f"{sent[edge.number]} records were sent to '{edge.target_name}' (edge {edge.number}) but "
                f"{received[edge.number]} arrived; the epoch is not committed"
            )
