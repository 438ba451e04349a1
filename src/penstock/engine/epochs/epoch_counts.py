"""What the tasks of an epoch have counted, added up over subtasks."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.engine.stages.messages import Done


def operator_counts(done: Sequence[Done]) -> dict[str, dict[str, int]]:
    """Records in and out of every operator, by uid."""
    counts: dict[str, dict[str, int]] = {}
    for message in done:
        for uid, of_subtask in message.operators.items():
            totals = counts.setdefault(uid, {})
            for name, count in of_subtask.items():
                totals[name] = totals.get(name, 0) + count
    return counts


def state_sizes(done: Sequence[Done]) -> dict[str, dict[str, int]]:
    """Entries and bytes of every operator's state, by uid."""
    sizes: dict[str, dict[str, int]] = {}
    for message in done:
        for uid, (entries, size) in message.state_sizes.items():
            total = sizes.setdefault(uid, {"entries": 0, "bytes": 0})
            total["entries"] += entries
            total["bytes"] += size
    return sizes
