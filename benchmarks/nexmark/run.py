"""Runs queries of Nexmark, one at a time, by Penstock and its peers, and compares them.

    python benchmarks/nexmark/run.py [--queries q0 q1 ...] [--events N] [--contenders penstock flink_sql ...] [--docs]

Programs whose rate was measured for a few seconds only run `--rounds` times, in turn; the median counts.

With `--docs` the results go to docs/benchmarks/nexmark.json, docs/nexmark.md and its plots, after each program; results
of other queries and contenders stay there. A program that fails or does not end is told, and the next one runs. A run
that was cut off, or has used up its `--minutes`, is gone on with by the same command and `--continue`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "benchmarks"))

from common.environments import python_of  # noqa: E402
from nexmark.contenders import CONTENDERS, OURS, SHORT_LIST, Contender, goals_of  # noqa: E402
from nexmark.generator import Dataset, make_dataset  # noqa: E402
from nexmark.journal import Journal  # noqa: E402
from nexmark.measure import Measurement, Run  # noqa: E402
from nexmark.report import add_results  # noqa: E402
from nexmark.schema import QUERIES  # noqa: E402

CACHE = Path(os.environ.get("PENSTOCK_CACHE", CHECKOUT / ".cache")) / "bench"
NEXMARK = CHECKOUT / "benchmarks" / "nexmark"


def main() -> int:
    """Measures what was asked for; the exit status says whether every answer was right and every ratio reached."""
    # So that the program that runs now is ended with this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = parse_options()
    return 0 if Nexmark(options, Journal(options.journal)).run() else 1


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", nargs="*", choices=list(QUERIES), default=list(QUERIES), metavar="QUERY")
    parser.add_argument("--short", action="store_true", help=f"the short list: {' '.join(SHORT_LIST)}")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--contenders", nargs="*", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--docs", action="store_true", help="write the results to docs/")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one program (900)")
    parser.add_argument("--rounds", type=int, default=3, help="how often short programs run (3)")
    parser.add_argument("--minutes", type=float, help="no program is started after so many minutes")
    parser.add_argument(
        "--continue", dest="goes_on", action="store_true", help="what is in the journal is not run again"
    )
    parser.add_argument("--journal", type=Path, default=CACHE / "nexmark-journal.json", help="what was measured so far")
    options = parser.parse_args()
    options.queries = SHORT_LIST if options.short else options.queries
    return options


@dataclass
class Nexmark:
    """One run: all programs that were asked for, query by query."""

    options: argparse.Namespace
    journal: Journal
    _started: float = field(default_factory=time.monotonic)
    _interpreters: dict[str, Path | Measurement] = field(default_factory=dict[str, "Path | Measurement"])
    """By environment; where one cannot be made, what is told of all that need it."""

    def run(self) -> bool:
        """Whether all was measured, every answer was right and every ratio reached."""
        options = self.options
        programs = [
            (query, CONTENDERS[name])
            for query in options.queries
            for name in options.contenders
            if query in CONTENDERS[name].queries
        ]
        if not options.goes_on:
            self.journal.forget(options.events, [(query, contender.name) for query, contender in programs])
        kept = [(q, each.name, found) for q, each in programs if (found := self._measured(q, each)) is not None]
        if kept:
            print(f"{len(kept)} of {len(programs)} programs are in {options.journal}", flush=True)
            if options.docs:
                add_results(options.events, kept)
        for place, query in enumerate(options.queries):
            if not self._measure_query(query, [each for name, each in programs if name == query]):
                left = len(options.queries) - place
                print(f"{left} of {len(options.queries)} queries are left: go on with --continue", flush=True)
                break
        missed = [query for query in options.queries if not self._is_met(query)]
        return not missed

    def _measure_query(self, query: str, contenders: Sequence[Contender]) -> bool:
        """Runs all programs of a query, in turn where there are several rounds. Whether there was time for it."""
        events, docs = self.options.events, self.options.docs
        for round_ in range(1, self.options.rounds + 1):
            for contender in contenders:
                if not self.journal.waits_for(round_, events, query, contender.name):
                    continue
                if self.options.minutes is not None and self._minutes() > self.options.minutes:
                    return False
                place = self.options.queries.index(query) + 1
                print(
                    f"[{place}/{len(self.options.queries)}] round {round_}, after {self._minutes():.1f} minutes",
                    flush=True,
                )
                measured = self._measure(query, contender)
                print_measurement(query, contender, measured)
                of_all = self.journal.add(events, query, contender.name, measured)
                if docs:
                    add_results(events, [(query, contender.name, of_all)])
        return True

    def _measured(self, query: str, contender: Contender) -> Measurement | None:
        return self.journal.get(self.options.events, query, contender.name)

    def _minutes(self) -> float:
        return (time.monotonic() - self._started) / 60

    def _measure(self, query: str, contender: Contender) -> Measurement:
        """Runs one contender on its share of the events."""
        events = contender.events_of(self.options.events)
        checker, python = self._interpreter("duckdb"), self._interpreter(contender.environment)
        for each in (checker, python):
            if isinstance(each, Measurement):
                return each
        directory = make_dataset(CACHE / "nexmark", Dataset(events))
        command = [str(python), str(NEXMARK / contender.script), *contender.arguments]
        run = Run(query, command, directory, [str(checker), str(NEXMARK / "check.py")], self.options.timeout)
        return run.measure(CACHE / "nexmark-runs")

    def _interpreter(self, environment: str) -> Path | Measurement:
        if environment not in self._interpreters:
            self._interpreters[environment] = interpreter_of(environment)
        return self._interpreters[environment]

    def _is_met(self, query: str) -> bool:
        """Whether all of a query was measured and Penstock's answer is right; prints every ratio that was missed."""
        found = {
            name: self._measured(query, CONTENDERS[name])
            for name in self.options.contenders
            if query in CONTENDERS[name].queries
        }
        rates = {name: each.records_per_second for name, each in found.items() if each and not each.problem}
        is_whole = None not in found.values() and all(name in rates for name in OURS if name in found)
        return goals_are_met(query, rates) and is_whole


def interpreter_of(environment: str) -> Path | Measurement:
    """The interpreter of an environment; this one has DuckDB, perhaps."""
    if environment == "duckdb" and find_spec("duckdb") is not None:
        return Path(sys.executable)
    try:
        return python_of(environment)
    except (OSError, subprocess.CalledProcessError) as error:
        return Measurement(0, problem=f"the environment {environment} cannot be made: {error}")


def print_measurement(query: str, contender: Contender, measured: Measurement) -> None:
    if measured.records:
        print(
            f"  {query:3} {contender.title:28} {measured.records_per_second:>12,.0f} records/s, start-up "
            f"{measured.startup_seconds:5.1f} s, CPU {measured.cpu_seconds:6.1f} s, {measured.peak_mb:>6,.0f} MB, "
            f"all {measured.wall_seconds:5.1f} s, {measured.compared} {'WRONG' if measured.problem else 'right'}"
            f"{f' ({measured.remark})' if measured.remark else ''}",
            flush=True,
        )
    if measured.problem:
        print(f"  {query:3} {contender.title:28} {measured.problem}", flush=True)


def goals_are_met(query: str, rates: dict[str, float]) -> bool:
    """Prints every ratio that was missed."""
    met = True
    for name, goal in goals_of(query).items():
        if goal.ours in rates and name in rates and rates[goal.ours] < goal.ratio * rates[name]:
            met = False
            found = f"{CONTENDERS[goal.ours].title} is {rates[goal.ours] / rates[name]:.2f} x {CONTENDERS[name].title}"
            print(f"  {query}: MISSED: {found}, the goal is {goal.ratio} x", flush=True)
    return met


if __name__ == "__main__":
    sys.exit(main())
