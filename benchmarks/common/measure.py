"""Runs one contender in a process of its own, watches its memory and checks its answer."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.inputs import Expected
from common.process_tree import descendants, kilobytes, memory_fields

BENCHMARKS = Path(__file__).resolve().parents[1]
SAMPLE_SECONDS = 0.5
WARM_UP_SHARE = 1 / 3


class WrongAnswerError(RuntimeError):
    """A contender ran, but did not compute what it was asked for."""


@dataclass(frozen=True)
class Measurement:
    """What one run of a contender gave."""

    contender: str
    records: int
    records_per_second: float
    worker_mb: float
    """The largest resident memory of one Python process below the first."""
    rates: tuple[float, ...] = ()
    """Of the single runs, where there were several."""


def of_rounds(runs: Sequence[Measurement]) -> Measurement:
    """Several runs of a contender as one: the median of the rates, the most memory."""
    if len(runs) == 1:
        return runs[0]
    rates = tuple(each.records_per_second for each in runs)
    return Measurement(
        runs[0].contender, runs[0].records, statistics.median(rates), max(each.worker_mb for each in runs), rates
    )


def run_contender(
    name: str,
    command: Sequence[str],
    *,
    input_directory: Path,
    expected: Expected,
    files_per_epoch: int,
    environment: Mapping[str, str] | None = None,
) -> Measurement:
    """Runs a program to its end; raises where it fails or gives another answer than the expected one."""
    work = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    result_file = work / "result.json"
    (work / "state").mkdir()
    arguments = ["--input", str(input_directory), "--result", str(result_file), "--work", str(work / "state")]
    arguments += ["--files-per-epoch", str(files_per_epoch)]
    try:
        with (work / "log").open("w") as log:
            process = subprocess.Popen(
                [*command, *arguments],
                env={**os.environ, "PYTHONPATH": str(BENCHMARKS), **(environment or {})},
                stdout=log,
                stderr=log,
            )
            with MemoryWatch(process.pid) as memory:
                status = process.wait()
        if status:
            raise RuntimeError(f"{name} ended with {status}:\n{(work / 'log').read_text()[-4000:]}")
        result = json.loads(result_file.read_text())
        if (result["outputs"], result["checksum"]) != (expected.outputs, expected.checksum):
            raise WrongAnswerError(
                f"{name}: {result['outputs']} outputs with the sum {result['checksum']}; "
                f"expected {expected.outputs} with {expected.checksum}"
            )
        samples = result["samples"]
        return Measurement(name, sum(records for records, _ in samples), steady_rate(samples), memory.largest_mb)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def steady_rate(samples: Sequence[tuple[int, float]]) -> float:
    """Records a second after the warm-up."""
    return rate_of(steady_samples(samples))


def rate_of(samples: Sequence[tuple[int, float]]) -> float:
    """Records a second."""
    return sum(records for records, _ in samples) / sum(seconds for _, seconds in samples)


def steady_samples(samples: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    """What came after the warm-up: behind the first third of the records."""
    warm_up = WARM_UP_SHARE * sum(records for records, _ in samples)
    passed = 0
    counted: list[tuple[int, float]] = []
    for records, seconds in samples:
        if passed >= warm_up:
            counted.append((records, seconds))
        passed += records
    if not any(records for records, _ in counted):  # all of them came at once, and perhaps an empty piece behind them
        return samples
    return counted


class MemoryWatch:
    """Samples the memory of the Python processes below a process (Linux; elsewhere it reads 0)."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.largest_mb = 0.0

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            for process in descendants(self._root):
                self.largest_mb = max(self.largest_mb, _python_memory_mb(process))


def _python_memory_mb(process: int) -> float:
    """Resident memory without mapped files: pages of LMDB are the system's cache, not the worker's."""
    fields = memory_fields(process)
    return kilobytes(fields, "RssAnon") / 1024 if fields.get("Name", "").startswith("python") else 0.0
