"""Turns the figures into docs/latency.md and its plot."""

from __future__ import annotations

import json
from typing import Any

from matplotlib import pyplot as plt

from common.report import DOCS, describe_machine, save_figure
from latency.contenders import CONTENDERS, SUSTAINED, Contender
from latency.measure import RATE

RESULTS = DOCS / "benchmarks" / "latency.json"
PAGE = DOCS / "latency.md"
OURS, OTHERS = "#1f6f8b", "#b0bec5"
INTRODUCTION = """\
# Latency

Made by `benchmarks/latency/run.py --docs` on {machine}.

From one Kafka topic to another, {rate:,} records a second over two partitions, 50 keys, sent every 5 ms. A record has
in it the second in which it was sent, and every result that of its record; of a window, the time at which it ended.
Producer, broker, program and reader share the cores; the way over the broker, twice, is part of every figure.
Programs run one after the other, and are measured when they are warm. All send at least once, and save their state
every ten seconds, those in epochs and micro-batches as often as they can; PyFlink's bundles and buffers wait 5 ms at
most, as Penstock's buffers do. The filter's sink does not wait for more messages (`linger.ms` 0), those of the other
programs of Penstock wait 5 ms. The bare loop says what the broker and both ends take by themselves.
What pipelined mode is, and what it costs, is told in [concepts](concepts/pipelined.md).
"""
OF_GOALS = """\
Penstock's sources are read by Python tasks, in every mode. Where the source side of a job would run in Catalyst alone,
a keyed function is to take 25 ms; the goal of all other jobs is 60 ms. Why no plan runs in Catalyst alone is told in
[concepts](concepts/pipelined.md#and-catalyst).

Records that come while one epoch ends and the next begins, every ten seconds, wait for that
([what it consists of](concepts/pipelined.md#between-two-epochs)); in runs of 30 s they are fewer than one in a hundred.
"""

Results = dict[str, Any]
"""`runs`: contender -> figures; `sustained`: contender -> its steps, in which input comes faster and faster."""


def save_latency(measured: Results) -> None:
    """Keeps figures beside those of other programs, and writes the page anew."""
    results: Results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results.setdefault("runs", {}).update(measured.get("runs", {}))
    results.setdefault("sustained", {}).update(measured.get("sustained", {}))
    results["machine"] = describe_machine()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    write_page(results)


def write_page(results: Results) -> None:
    """Writes docs/latency.md and its plot."""
    shown = {name: results["runs"][name] for name in CONTENDERS if name in results["runs"]}
    lines = [INTRODUCTION.format(machine=results["machine"], rate=RATE)]
    if shown:
        lines += ["| program | p50 | p95 | p99 | slowest | goal, p50 / p99 |", "|---|---:|---:|---:|---:|---:|"]
        lines += [result_line(CONTENDERS[name], figures) for name, figures in shown.items()]
        draw_latencies(shown)
        lines += ["", "![latency](benchmarks/latency.svg)", "", OF_GOALS]
    else:
        lines += ["There are no figures yet.", ""]
    if results["sustained"]:
        lines += sustained_section(results["sustained"])
    PAGE.write_text("\n".join(lines).rstrip() + "\n")


def result_line(contender: Contender, figures: dict[str, float]) -> str:
    """A row of the table."""
    measured = " | ".join(f"{figures[name]:,.1f} ms" for name in ("p50_ms", "p95_ms", "p99_ms", "max_ms"))
    return f"| {contender.title} | {measured} | {goal_of(contender)} |"


def goal_of(contender: Contender) -> str:
    """What it is to reach."""
    goals = [goal for goal in (contender.p50_goal_ms, contender.p99_goal_ms) if goal is not None]
    return f"<= {' / '.join(f'{goal:g}' for goal in goals)} ms" if goals else ""


def sustained_section(measured: dict[str, list[dict[str, float]]]) -> list[str]:
    """How many records a second are too many, for each program."""
    shown = {name: measured[name] for name in SUSTAINED if name in measured}
    return [
        "## The highest sustained rate",
        "",
        "Input came twice as fast from step to step, until results fell behind: half of them more than a second late, "
        "later and later, or fewer than records. CPU time is that of all processes of the program, for each record. "
        "Producer, broker and reader share the cores: at some 100,000 records/s they need most of both.",
        "",
        "| program | keeps up with |",
        "|---|---:|",
        *(f"| {CONTENDERS[name].title} | {highest_rate(steps)} |" for name, steps in shown.items()),
        "",
        "| program | records/s | p50 | p99 | slowest | CPU per record | keeps up |",
        "|---|---:|---:|---:|---:|---:|---|",
        *(f"| {name} {step_cells(step)}" for name, steps in shown.items() for step in steps),
        "",
    ]


def highest_rate(steps: list[dict[str, float]]) -> str:
    """What a program keeps up with."""
    kept_up = [step["rate"] for step in steps if not step["behind"]]
    return f"{max(kept_up):,.0f} records/s" if kept_up else f"less than {steps[0]['rate']:,.0f} records/s"


def step_cells(step: dict[str, float]) -> str:
    """The figures of one rate."""
    times = " | ".join(f"{step[name]:,.1f} ms" for name in ("p50_ms", "p99_ms", "max_ms"))
    return f"| {step['rate']:,.0f} | {times} | {step['cpu_us']:,.0f} µs | {'no' if step['behind'] else 'yes'} |"


def draw_latencies(shown: dict[str, dict[str, float]]) -> None:
    """From p50 to p99, a line for each program; the scale is logarithmic."""
    figure, axes = plt.subplots(figsize=(8, 0.8 + 0.45 * len(shown)))
    for row, (name, figures) in enumerate(shown.items()):
        colour = OURS if CONTENDERS[name].is_ours else OTHERS
        axes.plot([figures["p50_ms"], figures["p99_ms"]], [row, row], color=colour, linewidth=2)
        axes.plot(figures["p50_ms"], row, "o", color=colour, markersize=8)
        axes.plot([figures["p95_ms"], figures["p99_ms"]], [row, row], "|", color=colour, markersize=10)
        axes.annotate(
            f"{figures['p50_ms']:,.1f}", (figures["p50_ms"], row), (0, 8), textcoords="offset points", ha="center"
        )
    axes.set_yticks(range(len(shown)), list(shown))
    axes.set_ylim(len(shown) - 0.5, -0.7)
    axes.set_xscale("log")
    axes.set_xlabel("ms from topic to topic: p50 (dot), p95 and p99 (strokes)")
    axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, "latency")
