"""What the tasks of an epoch have counted, added up over subtasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.engine.stages.messages import Done

OperatorRecords = Mapping[str, Mapping[str, int]]


def operator_counts(done: Sequence[Done]) -> dict[str, dict[str, int]]:
    """Records in and out of every operator, and those that it dropped as late, by uid."""
    return added(*(message.operators for message in done))


def added(*counts: OperatorRecords) -> dict[str, dict[str, int]]:
    """The sums of what operators counted, by uid and name."""
    sums: dict[str, dict[str, int]] = {}
    for by_uid in counts:
        for uid, of_operator in by_uid.items():
            totals = sums.setdefault(uid, {})
            for name, count in of_operator.items():
                totals[name] = totals.get(name, 0) + count
    return sums


def state_sizes(done: Sequence[Done]) -> dict[str, dict[str, int]]:
    """Entries and bytes of every operator's state, by uid."""
    sizes: dict[str, dict[str, int]] = {}
    for message in done:
        for uid, (entries, size) in message.state_sizes.items():
            total = sizes.setdefault(uid, {"entries": 0, "bytes": 0})
            total["entries"] += entries
            total["bytes"] += size
    return sizes
