"""How far a Flink job has come: the records that its sources have read, asked for while it runs."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.request
from typing import Any
from urllib.parse import quote

SECONDS_BETWEEN = 0.1
"""What is answered is what was asked for before: how far a job has come is known so much later, at least."""


def free_port() -> int:
    """A port for the REST server of a job."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Progress:
    """Asks the REST server of a job, in a thread, until the job has ended."""

    def __init__(self, port: int, job: str) -> None:
        self._job = f"http://127.0.0.1:{port}/jobs/{job}"
        self._ended = threading.Event()
        self._sources: list[tuple[str, str]] = []
        self._readings: list[tuple[float, int]] = []
        self._is_running = False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.began = time.time()
        """When the work began: when the last task had started, by Flink's own clock, as soon as that is known."""

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def samples(self, records: int, ended: float) -> list[tuple[int, float]]:
        """(records, seconds) of consecutive pieces of a run over so many records."""
        pieces: list[tuple[int, float]] = []
        passed, since = 0, self.began
        for at, read in self._readings:
            if passed < read < records and at > since:
                pieces.append((read - passed, at - since))
                passed, since = read, at
        return [*pieces, (records - passed, ended - since)]

    def _watch(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN):
            try:
                if self._is_running or self._have_started():
                    self._readings.append((time.time(), self._records_read()))
            except (OSError, KeyError):  # not yet up, or already gone
                continue

    def _have_started(self) -> bool:
        """Whether all tasks run. A source may read before the Python of another task has started."""
        vertices = self._ask("")["vertices"]
        tasks = [
            each for vertex in vertices for each in self._ask(f"/vertices/{vertex['id']}/subtasktimes")["subtasks"]
        ]
        started = [task["timestamps"].get("RUNNING", 0) for task in tasks]
        if tasks and all(at > 0 for at in started):
            self.began = max(started) / 1000
            self._sources = [
                (vertex["id"], metric["id"])
                for vertex in vertices
                for metric in self._ask(f"/vertices/{vertex['id']}/subtasks/metrics")
                if metric["id"].startswith("Source__") and metric["id"].endswith(".numRecordsOut")
            ]
            self._is_running = bool(self._sources)
        return self._is_running

    def _records_read(self) -> int:
        read = 0.0
        for vertex, metric in self._sources:
            answer = self._ask(f"/vertices/{vertex}/subtasks/metrics?get={quote(metric)}&agg=sum")
            read += sum(each["sum"] for each in answer)
        return int(read)

    def _ask(self, path: str) -> Any:
        with urllib.request.urlopen(self._job + path, timeout=5) as answer:
            return json.load(answer)
