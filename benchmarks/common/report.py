"""Turns results into docs/benchmarks.md and its plots."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pyspark

from state_size.rounds import KEYS_TOUCHED, RECORDS_PER_EPOCH
from suite import PENSTOCK, THROUGHPUT, Benchmark

mpl.use("Agg")
from matplotlib import pyplot as plt

DOCS = Path(__file__).resolve().parents[2] / "docs"
RESULTS = DOCS / "benchmarks" / "results.json"

DAYS = "measured_on"
Results = dict[str, Any]
"""The figures by benchmark, the day on which each was measured, and the machine."""


def load_results() -> Results:
    """The results so far: a run of some benchmarks keeps the others'."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(results: Results, name: str, figures: Any) -> None:
    """Takes the new figures of a benchmark, measured today."""
    results[name] = figures
    results.setdefault(DAYS, {})[name] = datetime.now(UTC).date().isoformat()


def save_results(results: Results) -> None:
    """Writes the results, the page and the plots."""
    results["machine"] = describe_machine()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    makers = {each.name: partial(throughput_section, each) for each in THROUGHPUT}
    makers |= {"state_size": state_size_section, "small_epoch": small_epoch_section}
    sections = [with_day(make(results[name]), results, name) for name, make in makers.items() if name in results]
    page = ["# Benchmarks", "", f"Made by `make bench` on {results['machine']}.", ""]
    page += ["Programs run one after the other, each in processes of its own, and every answer is checked. Rates are"]
    page += ["those after the first third of the input: by then Spark's JVM is warm. Sections are measured one by one:"]
    page += ["figures of different days may belong to different versions of the program.", ""]
    (DOCS / "benchmarks.md").write_text("\n".join(page) + "\n" + "\n".join(sections))


def with_day(section: str, results: Results, name: str) -> str:
    """A section that says under its title when it was measured; before days were kept, nobody knows."""
    title, _, rest = section.partition("\n\n")
    day = results.get(DAYS, {}).get(name)
    return f"{title}\n\nMeasured on {day}.\n\n{rest}" if day else section


def describe_machine() -> str:
    """The machine and the versions, in a line."""
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    versions = f"Python {platform.python_version()}, PySpark {pyspark.__version__}, Java {java.split(chr(34))[1]}"
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, {versions}"


def throughput_section(benchmark: Benchmark, measurements: list[dict[str, Any]]) -> str:
    """The table of one benchmark, with the ratios that are promised."""
    rates = {each["contender"]: each["records_per_second"] for each in measurements}
    goals = {goal.contender: goal for goal in benchmark.goals}
    lines = [f"## {benchmark.title}", ""]
    lines += ["| program | records/s | Penstock is | goal | memory of a worker |", "|---|---:|---:|---:|---:|"]
    for each in measurements:
        name, rate = each["contender"], each["records_per_second"]
        ours = rates.get(goals[name].ours if name in goals else PENSTOCK)
        ratio = f"{ours / rate:.2f} x" if ours and name != PENSTOCK else ""
        goal = f">= {goals[name].ratio} x" if name in goals else ""
        if name == PENSTOCK and benchmark.minimum_rate:
            goal = f">= {benchmark.minimum_rate:,}"
        memory = f"{each['worker_mb']:.0f} MB"
        if name == PENSTOCK and benchmark.maximum_worker_mb:
            memory += f" (goal < {benchmark.maximum_worker_mb})"
        of_runs = each.get("rates")
        spread = f" ({min(of_runs):,.0f} to {max(of_runs):,.0f})" if of_runs else ""
        lines.append(f"| {name} | {rate:,.0f}{spread} | {ratio} | {goal} | {memory} |")
    rounds = [f"{benchmark.rounds} rounds, the programs in turn: medians, and the least and greatest."]
    notes = [*(rounds if benchmark.rounds > 1 else []), *benchmark.notes]
    lines += ["", *(f"- {note}" for note in notes), ""]
    draw_rates(benchmark, rates)
    lines += [f"![records per second](benchmarks/{benchmark.name}.svg)", ""]
    return "\n".join(lines)


def draw_rates(benchmark: Benchmark, rates: dict[str, float]) -> None:
    """A bar per program."""
    figure, axes = plt.subplots(figsize=(7, 0.6 + 0.5 * len(rates)))
    names = list(reversed(rates))
    bars = axes.barh(
        names, [rates[name] for name in names], color=["#1f6f8b" if n == PENSTOCK else "#b0bec5" for n in names]
    )
    axes.bar_label(bars, [f"{rates[name]:,.0f}" for name in names], padding=4)
    axes.set_xlim(0, max(rates.values()) * 1.2)
    axes.set_xlabel("records/s")
    axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, benchmark.name)


def state_size_section(sizes: list[dict[str, Any]]) -> str:
    """What a record costs with more and more keys in state, the same number of them touched in an epoch."""
    least = sizes[0]["records_per_second"]
    lines = [f"## Running sum per key, {KEYS_TOUCHED:,} keys touched in an epoch, over more and more keys in state", ""]
    lines += ["| keys in state | µs per record | times the first | memory of a worker |", "|---:|---:|---:|---:|"]
    for each in sizes:
        rate = each["records_per_second"]
        lines.append(
            f"| {each['keys']:,} | {1e6 / rate:.2f} | {least / rate:.2f} x | {each['worker_mb']:.0f} MB |",
        )
    lines += ["", f"- Epochs of {RECORDS_PER_EPOCH:,} records, each with {KEYS_TOUCHED:,} keys of all that are there,"]
    lines += ["  chosen at random. All keys were written before; two subtasks, the costs of an epoch included.", ""]
    return "\n".join(lines)


def small_epoch_section(result: dict[str, Any]) -> str:
    """How long small amounts of data take, from the producer to the published file."""
    latencies = sorted(result["latencies_ms"])
    figure, axes = plt.subplots(figsize=(7, 2.6))
    axes.plot(result["latencies_ms"], ".-", color="#1f6f8b", linewidth=0.8)
    axes.set_xlabel("round")
    axes.set_ylabel("ms")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, "small_epoch")
    rows = [
        ("Kafka to published file, 100 records, median", f"{percentile(latencies, 50):.0f} ms", "<= 400 ms"),
        ("the same, 95 of 100", f"{percentile(latencies, 95):.0f} ms", ""),
        ("program start to first published result, cold", f"{result['first_result_seconds']:.1f} s", "<= 10 s"),
        ("an empty Spark job of the same shape, median", f"{result['bare_epoch_ms']:.0f} ms", ""),
    ]
    lines = ["## Small epochs: 100 records from Kafka through a keyed operator to a file sink", ""]
    lines += ["| what | measured | goal |", "|---|---:|---:|", *(f"| {a} | {b} | {c} |" for a, b, c in rows), ""]
    return "\n".join([*lines, "![latency by round](benchmarks/small_epoch.svg)", ""])


def percentile(ascending: list[float], percent: float) -> float:
    """The value that so many of a hundred do not exceed."""
    return ascending[min(len(ascending) - 1, int(len(ascending) * percent / 100))]


def save_figure(figure: Any, name: str) -> None:
    """Writes a plot beside the results, the same bytes for the same numbers."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "penstock"}):
        figure.savefig(RESULTS.parent / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
