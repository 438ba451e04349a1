"""What was measured so far, in a file: a run of the benchmark that was cut off can be gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from nexmark.measure import Measurement, of_rounds


class Journal:
    """The runs of programs by number of events, query and contender; written after each of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, list[Measurement]] = {}
        if path.exists():
            kept = json.loads(path.read_text())
            self._kept = {key: [Measurement(**values) for values in runs] for key, runs in kept.items()}

    def forget(self, events: int, programs: Iterable[tuple[str, str]]) -> None:
        """Drops measurements that are to be made again: a run that goes on does not take them for its own."""
        for query, contender in programs:
            self._kept.pop(_key(events, query, contender), None)
        self._write()

    def get(self, events: int, query: str, contender: str) -> Measurement | None:
        """What was measured, all rounds as one; None where nothing was yet."""
        runs = self._kept.get(_key(events, query, contender))
        return of_rounds(runs) if runs else None

    def waits_for(self, round_: int, events: int, query: str, contender: str) -> bool:
        """Whether a program is to be run in a round; rounds behind the first are for short ones."""
        runs = self._kept.get(_key(events, query, contender), [])
        return len(runs) < round_ and not (runs and runs[-1].is_settled)

    def add(self, events: int, query: str, contender: str, measured: Measurement) -> Measurement:
        """Keeps a run. Returns all rounds as one."""
        runs = self._kept.setdefault(_key(events, query, contender), [])
        runs.append(measured)
        self._write()
        return of_rounds(runs)

    def _write(self) -> None:
        """A run that is cut off while it writes leaves the file as it was."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        kept = {key: [asdict(each) for each in runs] for key, runs in self._kept.items()}
        temporary.write_text(json.dumps(kept, indent=1) + "\n")
        temporary.replace(self._path)


def _key(events: int, query: str, contender: str) -> str:
    return f"{events} {query} {contender}"
