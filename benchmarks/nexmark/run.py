"""Runs queries of Nexmark, one at a time, by Penstock and its peers, and compares them.

    python benchmarks/nexmark/run.py [--queries q0 q1 ...] [--events N] [--contenders penstock flink_sql ...] [--docs]

With `--docs` the results go to docs/benchmarks/nexmark.json, docs/nexmark.md and its plots, after each run; results of
other queries and contenders stay there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "benchmarks"))

from nexmark.contenders import CONTENDERS, PENSTOCK, SHORT_LIST, Contender, goals_of  # noqa: E402
from nexmark.generator import Dataset, make_dataset  # noqa: E402
from nexmark.measure import Measurement, Run  # noqa: E402
from nexmark.report import add_result  # noqa: E402
from nexmark.schema import QUERIES  # noqa: E402

CACHE = Path(os.environ.get("PENSTOCK_CACHE", CHECKOUT / ".cache")) / "bench"


def main() -> int:
    """Measures what was asked for; the exit status says whether every answer was right and every ratio reached."""
    options = parse_options()
    checker = [str(checking_python()), str(CHECKOUT / "benchmarks" / "nexmark" / "check.py")]
    met = True
    for query in SHORT_LIST if options.short else options.queries:
        print(query, flush=True)
        rates: dict[str, float] = {}
        for name in options.contenders:
            contender = CONTENDERS[name]
            if query not in contender.queries:
                continue
            measured = measure(contender, query, options, checker)
            print_measurement(contender, measured)
            if measured.problem:
                met &= name != PENSTOCK
            else:
                rates[name] = measured.records_per_second
            if options.docs:
                add_result(options.events, query, name, measured)
        met &= goals_are_met(query, rates)
    return 0 if met else 1


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", nargs="*", choices=list(QUERIES), default=list(QUERIES), metavar="QUERY")
    parser.add_argument("--short", action="store_true", help=f"the short list: {' '.join(SHORT_LIST)}")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--contenders", nargs="*", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--docs", action="store_true", help="write the results to docs/")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one run (1800)")
    return parser.parse_args()


def measure(contender: Contender, query: str, options: argparse.Namespace, checker: list[str]) -> Measurement:
    """Runs one contender on its share of the events."""
    events = int(options.events * contender.share)
    directory = make_dataset(CACHE / "nexmark", Dataset(events))
    command = [str(python_of(contender.environment)), str(CHECKOUT / "benchmarks" / "nexmark" / contender.script)]
    return Run(query, command, directory, checker, options.timeout).measure(CACHE / "nexmark-runs")


def python_of(environment: str) -> Path:
    """The interpreter that has what a contender needs."""
    if environment == "penstock":
        return Path(sys.executable)
    subprocess.run([str(CHECKOUT / "tools" / "bench_environment.sh"), environment], check=True)
    return CACHE / environment / "bin" / "python"


def checking_python() -> Path:
    """The interpreter that has DuckDB."""
    return Path(sys.executable) if find_spec("duckdb") is not None else python_of("duckdb")


def print_measurement(contender: Contender, measured: Measurement) -> None:
    if measured.records:
        print(
            f"  {contender.title:28} {measured.records_per_second:>12,.0f} records/s, start-up "
            f"{measured.startup_seconds:5.1f} s, CPU {measured.cpu_seconds:6.1f} s, {measured.peak_mb:>6,.0f} MB, "
            f"{measured.compared} {'WRONG' if measured.problem else 'right'}",
            flush=True,
        )
    if measured.problem:
        print(f"  {contender.title:28} {measured.problem}", flush=True)


def goals_are_met(query: str, rates: dict[str, float]) -> bool:
    """Prints every ratio that was missed."""
    met = True
    for name, ratio in goals_of(query).items():
        if PENSTOCK in rates and name in rates and rates[PENSTOCK] < ratio * rates[name]:
            met = False
            found = rates[PENSTOCK] / rates[name]
            print(f"  MISSED: {found:.2f} x {CONTENDERS[name].title}, the goal is {ratio} x", flush=True)
    return met


if __name__ == "__main__":
    sys.exit(main())
