"""What an epoch costs by its records, keys and partitions: a sum of few terms, fitted to what was measured.

A cost is a number of its unit for each thing there is so many of: records, partitions, pairs of partitions, keys of a
sender. None of them may be negative. How far the sums are from the measurements is a part of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


def moved_entries(run: Run) -> float:
    """*E*: the state entries that there are when the parallelism changes; all of them are laid out anew."""
    return float(run["entries_at_rescale"])


ON_CLUSTER = "executors as processes"
"""The series in which the driver's JVM works for the driver alone."""
RESCALES = "rescales"
"""The series in which jobs go on with other partitions."""
FITTED = ("partitions", "records", "keys")
"""The series that most costs are fitted to."""

Count = Callable[[Run], float]
SYMBOLS: dict[Count, str] = {
    once: "epoch",
    records: "*R*",
    partitions: "*P*",
    pairs: "*P*²",
    sent_keys: "*D*",
    moved_entries: "*E*",
}


@dataclass(frozen=True)
class Cost:
    """Something that was measured, and what it should grow with."""

    name: str
    unit: str
    terms: tuple[Count, ...]
    measured: Count
    series: tuple[str, ...] = FITTED


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
    Cost("CPU of the driver's Python", "ms", (once, partitions), lambda run: run["driver_cpu_ms_per_epoch"]),
    Cost("an epoch, on these cores", "ms", (once, records, partitions), lambda run: run["run_ms"]),
)
JVM = Cost("CPU of the driver's JVM", "ms", (once, partitions), lambda run: run["jvm_cpu_ms_per_epoch"], (ON_CLUSTER,))
MOVED = Cost(
    "state written anew", "bytes", (moved_entries, partitions), lambda run: run["state_bytes_moved"], (RESCALES,)
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


def section(figures: Mapping[str, Sequence[Run]]) -> list[str]:
    """The model and how far it is from what was measured, in Markdown."""
    lines = ["## The model, and what was measured", ""]
    lines += [f"*R* records, *P* partitions, *D* distinct keys of all senders; fitted to the series {_words(FITTED)}."]
    lines += ["", *_table(COSTS, figures, {"*P*": "partitions", "*R*": "records_per_epoch", "keys": "keys"})]
    if ON_CLUSTER in figures:
        lines += ["", "What the driver's JVM takes, where executors are processes of their own: planning, scheduling,"]
        lines += ["results. Of epochs that are not the first, but soon after them: code is still being compiled."]
        lines += ["", *_table((JVM,), figures, {"*P*": "partitions", "*R*": "records_per_epoch", "keys": "keys"})]
    if RESCALES in figures:
        lines += ["", "What moves when a job goes on with other partitions: all *E* entries of the state, once."]
        places = {"*P* before": "partitions_before", "*P*": "partitions", "*E*": "entries_at_rescale"}
        lines += ["", *_table((MOVED,), figures, {**places, "read by tasks later, bytes": "state_bytes_fetched"})]
    return [*lines, ""]


def _table(costs: Sequence[Cost], figures: Mapping[str, Sequence[Run]], shown: Mapping[str, str]) -> list[str]:
    """Models of costs that are fitted to the same runs, and each of these runs."""
    runs = [run for name in costs[0].series for run in figures[name]]
    models = [(cost, fitted(cost.terms, runs, cost.measured)) for cost in costs]
    lines = ["| cost | model |", "|---|---|"]
    for cost, prices in models:
        parts = [_part(each, cost.unit, term) for each, term in zip(prices, cost.terms, strict=True) if each]
        lines.append(f"| {cost.name} | {' + '.join(parts)} |")
    heads = [*shown, *(f"{cost.name}: model / measured, {cost.unit}" for cost in costs)]
    lines += ["", f"| {' | '.join(heads)} |", "|---:" * len(heads) + "|"]
    for run in runs:
        cells = [str(run[name]) for name in shown.values()]
        for cost, prices in models:
            cells.append(f"{predicted(cost.terms, prices, run):.0f} / {cost.measured(run):.0f}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _words(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _part(cost: float, unit: str, term: Count) -> str:
    shown = f"{cost * 1000:.2f} µs" if unit == "ms" and cost < 0.1 else f"{cost:.1f} {unit}"
    return shown if term is once else f"{shown} · {SYMBOLS[term]}"
