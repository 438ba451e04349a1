"""What every sink of the crash matrix must show, from a plain loop over the input, without Penstock."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from faults.matrix_job import TIMER_MS, WINDOW_MS
from faults.matrix_ledger import read_ledger


class MatrixOracle:
    """The truth about one input directory."""

    def __init__(self, source: Path) -> None:
        self.rules = len(_lines(source / "rules"))
        self.sums: Counter[tuple[str, int, int]] = Counter()
        self.timers: Counter[tuple[str, int]] = Counter()
        self.windows: Counter[tuple[str, int, int, int]] = Counter()
        of_keys: dict[str, tuple[int, int]] = {}
        of_windows: dict[tuple[str, int], tuple[int, int]] = {}
        timers: set[tuple[str, int]] = set()
        for payment in _lines(source / "payments"):
            key, value, time = payment["k"], payment["v"], payment["t"]
            count, total = of_keys.get(key, (0, 0))
            of_keys[key] = (count + 1, total + value)
            self.sums[key, count + 1, total + value] += 1
            timers.add((key, (time // TIMER_MS + 1) * TIMER_MS))
            window = (key, time // WINDOW_MS * WINDOW_MS)
            in_window = of_windows.get(window, (0, 0))
            of_windows[window] = (in_window[0] + 1, in_window[1] + value)
        self.timers.update(timers)
        self.windows.update((key, start, count, total) for (key, start), (count, total) in of_windows.items())

    def differences(
        self, directory: Path, ordered_sums: list[Any] | None = None, windows: list[Any] | None = None
    ) -> list[str]:
        """What is wrong with the sinks; nothing, if all is right.

        Sums in an order, and windows, are in the ledgers of the directory unless they are given.
        """
        sums, timers = _lines(directory / "sums"), _lines(directory / "timers")
        ordered = read_ledger(directory / "sums.db") if ordered_sums is None else ordered_sums
        windows = read_ledger(directory / "windows.db") if windows is None else windows
        return [
            *_compared("sums in files", self.sums, Counter((r["k"], r["n"], r["total"]) for r in sums)),
            *_compared("sums in order", self.sums, Counter((r["k"], r["n"], r["total"]) for r in ordered)),
            *_compared("timers", self.timers, Counter((r["k"], r["n"]) for r in timers)),
            *_compared("windows", self.windows, Counter((r["k"], r["n"], r["rules"], r["total"]) for r in windows)),
            *_noise_of_two_attempts(sums, ordered),
            *self._order(ordered),
        ]

    def _order(self, ordered: list[Any]) -> list[str]:
        """Per key, records become visible in the order of the input, and see ever more rules."""
        wrong: list[str] = []
        of_keys: dict[str, list[Any]] = defaultdict(list)
        for record in ordered:
            of_keys[record["k"]].append(record)
        for key, records in of_keys.items():
            if [record["n"] for record in records] != sorted(record["n"] for record in records):
                wrong.append(f"order of {key}: {[record['n'] for record in records]}")
            rules = [record["rules"] for record in sorted(records, key=lambda record: record["n"])]
            if rules != sorted(rules) or not all(0 <= count <= self.rules for count in rules):
                wrong.append(f"rules known to {key}: {rules}")
        return wrong


def _lines(directory: Path) -> list[dict[str, Any]]:
    paths = sorted(directory.glob("*.json"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def _compared(name: str, expected: Counter[Any], found: Counter[Any]) -> list[str]:
    missing, extra = expected - found, found - expected
    return [f"{name}: missing {sorted(missing.elements())[:5]}, too much {sorted(extra.elements())[:5]}"] * bool(
        missing or extra
    )


def _noise_of_two_attempts(files: list[Any], ledger: list[Any]) -> list[str]:
    """Sinks of one epoch must show the same attempt at it."""
    of_files = {(record["k"], record["n"]): record["noise"] for record in files}
    of_ledger = {(record["k"], record["n"]): record["noise"] for record in ledger}
    differing = [place for place, noise in of_files.items() if of_ledger.get(place, noise) != noise]
    return [f"two sinks show two attempts at {differing[:5]}"] * bool(differing)
