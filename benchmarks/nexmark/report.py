"""Turns the results into docs/nexmark.md and its plots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from matplotlib import pyplot as plt

from common.report import DOCS, describe_machine, save_figure
from nexmark.contenders import CONTENDERS, GOALS, PENSTOCK, PENSTOCK_RECORDS, Goal, goals_of
from nexmark.measure import SHORT_SECONDS, Measurement
from nexmark.schema import QUERIES

RESULTS = DOCS / "benchmarks" / "nexmark.json"
NOTES = DOCS / "benchmarks" / "nexmark-notes.md"
"""Written by hand: why figures are what they are. It is put into the page as it is."""
COLOURS = {
    "penstock": "#1f6f8b",
    "penstock_records": "#7fb3c8",
    "flink_sql": "#d98c5f",
    "pyflink": "#e8c39e",
    "spark": "#8a9a5b",
    "bytewax": "#b0bec5",
}
INTRODUCTION = """\
# Nexmark

Made by `make nexmark` (and, for the short list, `make bench`) on {machine}.

What the queries are, and what all programs agree on, is in `benchmarks/nexmark/README.md`; the programs are beside it.
They run one after the other, each in processes of its own on the same two cores. Rates are records read per second
behind the first third of the input; the start of a program is told apart. A program whose rate was measured for less
than {short:.0f} s ran several times, in turn with the others: its row is of the run with the median rate, and has the
least and greatest rate in brackets. CPU time (the start included) and memory are those of all its processes together.
Every answer is compared with that of DuckDB in the same run: all rows, or their number and a checksum over all columns.
"""

Results = dict[str, Any]
"""Events -> query -> contender -> measurement; and what machine it was."""


def add_results(events: int, measured: Sequence[tuple[str, str, Measurement]]) -> None:
    """Keeps results (query, contender, measurement), and writes the page anew."""
    results: Results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"runs": {}}
    results["machine"] = describe_machine()
    for query, contender, each in measured:
        results["runs"].setdefault(str(events), {}).setdefault(query, {})[contender] = asdict(each)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    write_page(results)


def write_page(results: Results) -> None:
    """Writes docs/nexmark.md, and a plot for each number of events."""
    lines = [INTRODUCTION.format(machine=results["machine"], short=SHORT_SECONDS)]
    if NOTES.exists():
        lines += [NOTES.read_text().strip(), ""]
    for events in sorted(results["runs"], key=int, reverse=True):
        lines += section(int(events), results["runs"][events])
    (DOCS / "nexmark.md").write_text("\n".join(lines).rstrip() + "\n")


def section(events: int, runs: dict[str, dict[str, Any]]) -> list[str]:
    """The tables of one size of input."""
    shown = [query for query in QUERIES if query in runs]
    lines = [f"## {events:,} events", "", *goals_table(runs), ""]
    draw_rates(events, shown, runs)
    lines += [f"![records per second](benchmarks/nexmark-{events}.svg)", ""]
    lines += ["| query | program | records/s | Penstock is | goal | start-up | CPU | memory | answer |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|---:|---|"]
    notes: dict[str, None] = {}
    for query in shown:
        for name in CONTENDERS:
            if name in runs[query]:
                lines.append(result_line(events, query, name, runs[query], notes))
    return [*lines, "", *notes, ""]


def goals_table(runs: dict[str, dict[str, Any]]) -> list[str]:
    """How many queries reach what was to be reached."""
    lines = ["| queries | against | goal | reached | lowest | median | highest |", "|---|---|---:|---:|---:|---:|---:|"]
    for goal in GOALS:
        ratios = goal_ratios(goal, runs)
        if not ratios:
            continue
        reached = sum(ratio >= goal.ratio for ratio in ratios.values())
        worst, best = (min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__))
        median = sorted(ratios.values())[len(ratios) // 2]
        lines.append(
            f"| {goal.title} | {CONTENDERS[goal.contender].title} | >= {goal.ratio:g} x | {reached} of {len(ratios)} | "
            f"{ratios[worst]:.2f} x ({worst}) | {median:.2f} x | {ratios[best]:.2f} x ({best}) |"
        )
    return lines


def goal_ratios(goal: Goal, runs: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Our rate through the other's, by query; only where both answers were right."""
    found: dict[str, float] = {}
    for query in goal.queries:
        ours, other = (runs.get(query, {}).get(name) for name in (goal.ours, goal.contender))
        if ours and other and not ours["problem"] and not other["problem"]:
            found[query] = ours["records_per_second"] / other["records_per_second"]
    return found


def result_line(events: int, query: str, name: str, runs: dict[str, Any], notes: dict[str, None]) -> str:
    """A row of the table; what is special about it goes to the notes."""
    measured, title = runs[name], CONTENDERS[name].title
    if name == PENSTOCK_RECORDS:
        notes[f"- {title}: the functions of PyFlink's program; what PyFlink is compared with in these queries."] = None
    if measured["settings"]:
        notes[f"- {title}: {measured['settings']}."] = None
    if not measured["records"]:
        return f"| {query} | {title} | | | | | | | failed: {first_line(measured['problem'])} |"
    if measured["events"] != events:
        notes[f"- {title} has read {measured['events']:,} events: it need not read all to show its rate."] = None
    rate, goal = measured["records_per_second"], goals_of(query).get(name)
    ours = runs.get(goal.ours if goal else PENSTOCK, {}).get("records_per_second")
    of_runs = measured.get("rates")
    cells = [
        query,
        title,
        f"{rate:,.0f}" + (f" ({min(of_runs):,.0f} to {max(of_runs):,.0f})" if of_runs else ""),
        f"{ours / rate:.2f} x" if ours and name != PENSTOCK else "",
        f">= {goal.ratio:g} x" if goal else "",
        f"{measured['startup_seconds']:.1f} s",
        f"{measured['cpu_seconds']:.0f} s",
        f"{measured['peak_mb']:,.0f} MB",
        answer_cell(measured),
    ]
    return f"| {' | '.join(cells)} |"


def answer_cell(measured: dict[str, Any]) -> str:
    """Whether the answer was right, and what was not compared."""
    if measured["problem"]:
        return f"**wrong**: {first_line(measured['problem'])}"
    remark = measured.get("remark")
    return f"{measured['compared']} right" + (f" ({remark})" if remark else "")


def first_line(text: str) -> str:
    """Enough of a problem for a table."""
    return text.strip().splitlines()[0].replace("|", "/")[:100] if text.strip() else ""


def draw_rates(events: int, queries: list[str], runs: dict[str, dict[str, Any]]) -> None:
    """A group of bars for each query; right answers only."""
    names = [name for name in CONTENDERS if any(name in runs[query] for query in queries)]
    figure, axes = plt.subplots(figsize=(9, 0.6 + 0.28 * len(names) * len(queries)))
    height = 0.8 / max(1, len(names))
    for place, name in enumerate(names):
        right = [
            (row, runs[query][name]["records_per_second"])
            for row, query in enumerate(queries)
            if name in runs[query] and not runs[query][name]["problem"]
        ]
        axes.barh(
            [row + place * height for row, _ in right],
            [rate for _, rate in right],
            height=height,
            color=COLOURS[name],
            label=CONTENDERS[name].title,
        )
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(queries))], queries)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("records/s")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(names), frameon=False, fontsize=8)
    save_figure(figure, f"nexmark-{events}")
