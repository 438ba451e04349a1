"""Runs one contender on one query: in processes of its own, watched from outside, its answer checked."""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.measure import BENCHMARKS, rate_of, steady_samples
from common.process_tree import TreeWatch, descendants
from nexmark.schema import QUERIES

LOG_SHOWN = 3000
SHARE_OF_AN_EPOCH = 0.35
"""Of all records that a query reads. Rates are those behind the first third: one epoch."""
MOST_RECORDS_PER_EPOCH = 4_000_000
SHORT_SECONDS = 6.0
"""A rate that was measured for less time than this changes by a third from run to run."""


@dataclass(frozen=True)
class Measurement:
    """What one run gave. `problem` is empty where the answer was right."""

    events: int
    records: int = 0
    records_per_second: float = 0.0
    """In the steady state: without the start, and without the first third of the records."""
    seconds: float = 0.0
    startup_seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of all processes, the start included, preparation of input excluded."""
    peak_mb: float = 0.0
    """Of all processes together."""
    wall_seconds: float = 0.0
    """From the start of the program to its checked answer, with all that is not measured."""
    compared: str = ""
    """What was compared with the right answer: `rows`, or `checksum`."""
    remark: str = ""
    """What the comparison has left out."""
    settings: str = ""
    problem: str = ""
    rates: Sequence[float] = ()
    """Of the single rounds, where there were several."""
    rated_seconds: float = 0.0
    """How long the rate was measured."""

    @property
    def is_settled(self) -> bool:
        """Whether running it once more would tell nothing new."""
        return bool(self.problem) or self.rated_seconds >= SHORT_SECONDS


def of_rounds(runs: Sequence[Measurement]) -> Measurement:
    """Several runs of a program as one: that of the median rate. One that failed, or was wrong, stands for all."""
    failed = next((each for each in runs if each.problem), None)
    if failed is not None or len(runs) == 1:
        return failed or runs[0]
    rates = tuple(each.records_per_second for each in runs)
    return replace(runs[rates.index(statistics.median_low(rates))], rates=rates)


@dataclass(frozen=True)
class Run:
    """A program, what it reads, and who checks it."""

    query: str
    command: Sequence[str]
    input: Path
    checker: Sequence[str]
    """The command of check.py."""
    timeout: float

    def measure(self, scratch: Path) -> Measurement:
        """Runs it; what goes wrong is told, not raised."""
        meta = json.loads((self.input / "meta.json").read_text())
        events = meta["events"]
        records = sum(meta["counts"][table] for table in QUERIES[self.query].reads)
        scratch.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(prefix=f"{self.query}-", dir=scratch))
        started = time.monotonic()
        try:
            measured = self._measure(directory, events, records)
        except subprocess.TimeoutExpired:
            measured = Measurement(events, problem=f"not at its end after {self.timeout:.0f} s")
        except (RuntimeError, OSError, ValueError, LookupError, ArithmeticError) as error:
            measured = Measurement(events, problem=str(error) if type(error) is RuntimeError else repr(error))
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return replace(measured, wall_seconds=time.monotonic() - started)

    def _measure(self, directory: Path, events: int, records: int) -> Measurement:
        result_file, work = directory / "result.json", directory / "work"
        work.mkdir()
        arguments = ["--query", self.query, "--input", self.input, "--work", work, "--result", result_file]
        arguments += ["--records-per-epoch", min(MOST_RECORDS_PER_EPOCH, round(records * SHARE_OF_AN_EPOCH))]
        environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS)}
        with (directory / "log").open("w") as log:
            process = subprocess.Popen(
                [*self.command, *map(str, arguments)],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            with TreeWatch(process.pid) as watch:
                try:
                    status = process.wait(self.timeout)
                finally:
                    _end_group(process)
        if status:
            raise RuntimeError(f"ended with {status}:\n{(directory / 'log').read_text()[-LOG_SHOWN:]}")
        if not result_file.exists():
            raise RuntimeError(f"ended without a result:\n{(directory / 'log').read_text()[-LOG_SHOWN:]}")
        result = json.loads(result_file.read_text())
        return self._measurement(events, result, watch, *self._check(result_file))

    def _measurement(
        self, events: int, result: dict[str, Any], watch: TreeWatch, problem: str, remark: str
    ) -> Measurement:
        samples = result["samples"]
        steady = steady_samples(samples)
        return Measurement(
            events=events,
            records=sum(records for records, _ in samples),
            records_per_second=rate_of(steady),
            rated_seconds=sum(seconds for _, seconds in steady),
            seconds=sum(seconds for _, seconds in samples),
            startup_seconds=result["startup_seconds"],
            cpu_seconds=max(watch.cpu_seconds - result.get("aside_cpu_seconds", 0), 0.0),
            peak_mb=watch.peak_mb,
            compared="rows" if result.get("output") else "checksum",
            settings=result.get("settings", ""),
            remark=remark,
            problem=problem,
        )

    def _check(self, result_file: Path) -> tuple[str, str]:
        """What is wrong with the answer, and what the comparison has left out."""
        checked = subprocess.run(
            [*self.checker, "--query", self.query, "--input", str(self.input), "--result", str(result_file)],
            capture_output=True,
            text=True,
            check=False,
            timeout=self.timeout,
        )
        if checked.returncode == 0:
            return "", checked.stdout.strip().partition("right: ")[2]
        return (checked.stdout.removeprefix("WRONG\n") + checked.stderr)[-LOG_SHOWN:] or "the check has failed", ""


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends what a program has left running, and the program itself after a time-out."""
    below = descendants(process.pid)  # some have a group of their own: Spark's Python workers
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for each in below:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    process.wait()
