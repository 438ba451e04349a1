"""What a run has measured so far, in a file: a run that was cut off can be gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from nexmark.measure import Measurement


class Journal:
    """The measurements by number of events, query and contender; written after each of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, Measurement] = {}
        if path.exists():
            self._kept = {key: Measurement(**values) for key, values in json.loads(path.read_text()).items()}

    def forget(self, events: int, programs: Iterable[tuple[str, str]]) -> None:
        """Drops measurements that are to be made again: a run that goes on does not take them for its own."""
        for query, contender in programs:
            self._kept.pop(_key(events, query, contender), None)
        self._write()

    def get(self, events: int, query: str, contender: str) -> Measurement | None:
        """What was measured; None where nothing was yet."""
        return self._kept.get(_key(events, query, contender))

    def add(self, events: int, query: str, contender: str, measured: Measurement) -> None:
        """Keeps a measurement."""
        self._kept[_key(events, query, contender)] = measured
        self._write()

    def _write(self) -> None:
        """A run that is cut off while it writes leaves the file as it was."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        temporary.write_text(json.dumps({key: asdict(each) for key, each in self._kept.items()}, indent=1) + "\n")
        temporary.replace(self._path)


def _key(events: int, query: str, contender: str) -> str:
    return f"{events} {query} {contender}"
