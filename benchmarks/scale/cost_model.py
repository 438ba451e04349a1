"""What an epoch costs by its records, keys and partitions: a sum of few terms, fitted to what was measured.

A cost is a number of its unit for each thing there is so many of: records, partitions, pairs of partitions, keys of a
sender. None of them may be negative. How far the sums are from the measurements is a part of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = dict[str, Any]


def once(run: Run) -> float:
    """Whatever the epoch has to do."""
    return 1.0


def records(run: Run) -> float:
    """*R*."""
    return float(run["records_per_epoch"])


def partitions(run: Run) -> float:
    """*P*: one task of each stage."""
    return float(run["partitions"])


def pairs(run: Run) -> float:
    """*P*²: one buffer from each sender to each receiver."""
    return partitions(run) ** 2


def sent_keys(run: Run) -> float:
    """*D*: the distinct keys of each sender, which its buffers have once."""
    return min(records(run), run["keys"] * partitions(run))


Count = Callable[[Run], float]
SYMBOLS: dict[Count, str] = {once: "epoch", records: "*R*", partitions: "*P*", pairs: "*P*²", sent_keys: "*D*"}


@dataclass(frozen=True)
class Cost:
    """Something that was measured, and what it should grow with."""

    name: str
    unit: str
    terms: tuple[Count, ...]
    measured: Count


COSTS = (
    Cost(
        "tasks of the source, busy",
        "ms",
        (records, partitions, pairs),
        lambda run: run["us_per_record"]["0"] * records(run) / 1000,
    ),
    Cost(
        "tasks of stage 1, busy",
        "ms",
        (records, partitions, pairs),
        lambda run: run["us_per_record"]["1"] * records(run) / 1000,
    ),
    Cost(
        "bytes exchanged",
        "bytes",
        (records, sent_keys, pairs),
        lambda run: run["bytes_per_record"]["0"] * records(run),
    ),
    Cost("driver's CPU", "ms", (once, partitions), lambda run: run["driver_cpu_ms_per_epoch"]),
    Cost("an epoch, on these cores", "ms", (once, records, partitions), lambda run: run["run_ms"]),
)


def fitted(terms: Sequence[Count], runs: Sequence[Run], measured: Count) -> list[float]:
    """What each term costs, so that relative errors are small; a term that would be negative costs nothing."""
    wanted = np.array([measured(run) for run in runs])
    shares = np.array([[term(run) for term in terms] for run in runs]) / wanted[:, None]
    used = list(range(len(terms)))
    while used:
        found = np.linalg.lstsq(shares[:, used], np.ones(len(runs)), rcond=None)[0]
        if (found >= 0).all():
            costs = dict(zip(used, found.tolist(), strict=True))
            return [costs.get(place, 0.0) for place in range(len(terms))]
        del used[int(found.argmin())]
    return [0.0] * len(terms)


def predicted(terms: Sequence[Count], costs: Sequence[float], run: Run) -> float:
    """The sum."""
    return sum(cost * term(run) for cost, term in zip(costs, terms, strict=True))


def section(runs: Sequence[Run]) -> list[str]:
    """The model and how far it is from what was measured, in Markdown."""
    models = [(cost, fitted(cost.terms, runs, cost.measured)) for cost in COSTS]
    lines = ["## The model, and what was measured", ""]
    lines += [
        "*R* records, *P* partitions, *D* distinct keys of all senders; fitted to all runs above but the last two."
    ]
    lines += ["", "| cost of an epoch | model |", "|---|---|"]
    for cost, costs in models:
        parts = [_part(each, cost.unit, term) for each, term in zip(costs, cost.terms, strict=True) if each]
        lines.append(f"| {cost.name} | {' + '.join(parts)} |")
    lines += ["", "| *P* | *R* | keys | " + " | ".join(f"{cost.name}: model / measured, {cost.unit}" for cost in COSTS)]
    lines[-1] += " |"
    lines.append("|---:" * (3 + len(COSTS)) + "|")
    for run in runs:
        cells = [str(run["partitions"]), str(run["records_per_epoch"]), str(run["keys"])]
        for cost, costs in models:
            cells.append(f"{predicted(cost.terms, costs, run):.0f} / {cost.measured(run):.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _part(cost: float, unit: str, term: Count) -> str:
    shown = f"{cost * 1000:.2f} µs" if unit == "ms" and cost < 0.1 else f"{cost:.1f} {unit}"
    return shown if term is once else f"{shown} · {SYMBOLS[term]}"
