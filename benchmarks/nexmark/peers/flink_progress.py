"""How far a Flink job has come: the records that its sources have read, asked for while it runs."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.request
from typing import Any
from urllib.parse import quote

SECONDS_BETWEEN = 0.25
NOT_YET_RUNNING = {"CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING"}


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
        """When the work began: the last time at which a task was still starting, or no record was read."""

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
            if passed < read < records:
                pieces.append((read - passed, at - since))
                passed, since = read, at
        return [*pieces, (records - passed, ended - since)]

    def _watch(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN):
            try:
                records = self._records_read()
            except (OSError, KeyError):  # not yet up, or already gone
                continue
            if records and self._is_running:
                self._readings.append((time.time(), records))
            else:
                self.began = time.time()

    def _records_read(self) -> int:
        if not (self._is_running and self._sources):
            # A source may read before the Python of another task has started.
            vertices = self._ask("")["vertices"]
            self._is_running = not any(vertex["status"] in NOT_YET_RUNNING for vertex in vertices)
            self._sources = [
                (vertex["id"], metric["id"])
                for vertex in vertices
                for metric in self._ask(f"/vertices/{vertex['id']}/subtasks/metrics")
                if metric["id"].startswith("Source__") and metric["id"].endswith(".numRecordsOut")
            ]
        read = 0.0
        for vertex, metric in self._sources:
            answer = self._ask(f"/vertices/{vertex}/subtasks/metrics?get={quote(metric)}&agg=sum")
            read += sum(each["sum"] for each in answer)
        return int(read)

    def _ask(self, path: str) -> Any:
        with urllib.request.urlopen(self._job + path, timeout=5) as answer:
            return json.load(answer)
