"""What a soak has tried, and what came of it: counts, and the page that shows them."""

from __future__ import annotations

import platform
from collections import Counter
from datetime import UTC, datetime
from typing import Any

_INTRODUCTION = """# Faults tried and survived

Written by `make soak`; do not edit. Each run of the job below ends with an oracle, a plain loop over the input, that
compares every sink with it: nothing lost, nothing twice, the order of each key kept, all sinks of an epoch from one
attempt.

The job: payments from files or Kafka, keyed state with event-time timers and a broadcast stream, windows by event time.
Its sinks: two directories of files, a Kafka topic and a PostgreSQL table, or tables of SQLite in their place
(`tests/faults/matrix_job.py`). In [pipelined mode](concepts/pipelined.md) payments come while processes are killed.
[How it is survived](concepts/fault-tolerance.md).
"""


class SoakResults:
    """Counts over all runs."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.seconds = 0.0
        self.schedules = 0
        self.spark_runs = 0
        self.runs: Counter[str] = Counter()
        self._strikes: dict[tuple[str, str], int] = {}
        self.failures: list[str] = []
        self._wrong: set[str] = set()
        """Where there were failures."""

    @property
    def kills(self) -> int:
        """Processes that got a real SIGKILL."""
        return sum(count for (_, fault), count in self._strikes.items() if fault.startswith("SIGKILL"))

    def struck(self, where: str, fault: str, times: int = 1) -> None:
        """A fault has happened."""
        if times:
            self._strikes[where, fault] = self._strikes.get((where, fault), 0) + times

    def ended(self, where: str, differences: list[str], name: str) -> None:
        """A run has ended, and this is what the oracle says."""
        self.runs[where] += 1
        if differences:
            self._wrong.add(where)
            self.failures.append(f"{where}, {name}: {'; '.join(differences)}")
            print(self.failures[-1], flush=True)

    def summary(self) -> dict[str, Any]:
        """In short."""
        return {
            "seed": self._seed,
            "seconds": round(self.seconds),
            "kills": self.kills,
            "schedules": self.schedules,
            "runs": dict(self.runs),
            "failures": self.failures,
        }

    def page(self) -> str:
        """The page, in Markdown."""
        lines = [
            _INTRODUCTION,
            f"The last run took {self.seconds / 60:.0f} minutes on {datetime.now(UTC):%Y-%m-%d}, with Python "
            f"{platform.python_version()} and seed {self._seed}: **{self.kills} processes killed**, "
            f"{self.schedules} schedules of simulated faults, {sum(self.runs.values())} runs of the job to its end, "
            f"**{len(self.failures)} of them wrong**.",
            "",
            "| where | fault | how often | survived |",
            "|---|---|---:|---|",
        ]
        for (where, fault), count in sorted(self._strikes.items()):
            lines.append(f"| {where} | {fault} | {count} | {'not always' if where in self._wrong else 'yes'} |")
        if self.failures:
            lines += ["", "What was wrong:", "", *(f"- {failure}" for failure in self.failures)]
        return "\n".join(lines) + "\n"
