"""The figures of the recovery benchmark as a page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

_LIMITS = {
    "epoch ms above one without state": 150,
    "seconds of recovery": 10,
    "seconds of a savepoint": 10,
}


def recovery_page(figures: Mapping[str, Any]) -> str:
    """The page, in Markdown."""
    keys, changed = figures["keys"], figures["changed"]
    state = sum(each["bytes"] for each in figures["with state"]["state"].values())
    rows = [
        (
            f"an epoch that changes {changed:,} keys, above one without state",
            f"{figures['epoch ms above one without state']:.0f} ms",
            f"<= {_LIMITS['epoch ms above one without state']} ms",
        ),
        (
            f"{keys:,} keys on a new host",
            f"{figures['seconds of recovery']:.1f} s",
            f"<= {_LIMITS['seconds of recovery']} s",
        ),
        (
            "a savepoint of them",
            f"{figures['seconds of a savepoint']:.1f} s",
            f"<= {_LIMITS['seconds of a savepoint']} s",
        ),
        (
            "bytes that an epoch writes, per byte that it changes",
            f"{figures['bytes written by an epoch'] / figures['bytes changed by an epoch']:.2f}",
            "follow what changes",
        ),
    ]
    beside = [
        (name, figures[ours], figures[theirs])
        for name, ours, theirs in (
            ("such an epoch", "with state", "RocksDB"),
            ("the first epoch on a new host", "on a new host", "RocksDB on a new host"),
        )
    ]
    first = beside[1]
    lines = [
        "# What state costs, and what it costs to have it elsewhere",
        "",
        "Written by `benchmarks/recovery/run.py`; do not edit. A job keeps the last value of each of "
        f"{keys:,} keys, {state / 1e6:.0f} MB in all; its epochs change {changed:,} of them, chosen at random. Then "
        f"the local state is removed, as it is on a new host. Two subtasks, {os.cpu_count()} cores.",
        "",
        "| | measured | goal |",
        "|---|---:|---|",
        *(f"| {name} | {measured} | {goal} |" for name, measured, goal in rows),
        "",
        "A snapshot is made beside the epochs, and written when the deltas since the last are twice its size: over "
        "a long time that adds at most half of what deltas write.",
        "",
        "The same with Spark's own streaming and its RocksDB state store with changelog checkpoints:",
        "",
        "| | Penstock | Spark, RocksDB |",
        "|---|---:|---:|",
        f"| such an epoch | {beside[0][1]['epoch_ms']:.0f} ms | {beside[0][2]['epoch_ms']:.0f} ms |",
        f"| the first epoch on a new host | {first[1]['first_epoch_s']:.1f} s | {first[2]['first_epoch_s']:.1f} s |",
        "",
    ]
    return "\n".join(lines)
