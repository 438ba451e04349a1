"""What a run has measured so far, in a file: a run that was cut off can be gone on with."""

from __future__ import annotations

import json
import os
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

    def forget(self, events: int, query: str, contender: str) -> None:
        """Drops a measurement that is to be made again; what is in the file changes with the next one."""
        self._kept.pop(_key(events, query, contender), None)

    def get(self, events: int, query: str, contender: str) -> Measurement | None:
        """What was measured; None where nothing was yet."""
        return self._kept.get(_key(events, query, contender))

    def add(self, events: int, query: str, contender: str, measured: Measurement) -> None:
        """Keeps a measurement. A run that is cut off while it writes leaves the file as it was."""
        self._kept[_key(events, query, contender)] = measured
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        temporary.write_text(json.dumps({key: asdict(each) for key, each in self._kept.items()}, indent=1) + "\n")
        temporary.replace(self._path)


def _key(events: int, query: str, contender: str) -> str:
    return f"{events} {query} {contender}"
