"""Runs contenders between two topics, one after the other, and takes the time of every result."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from common.environments import python_of
from common.measure import BENCHMARKS
from common.process_tree import TreeWatch
from common.report import percentile
from latency.contenders import CONTENDERS, Contender
from latency.topics import PARTITIONS, Arrival, Feed, Reader
from services.kafka import KafkaBroker

RATE = 1_000
SECONDS = 30.0
WARM_UP_SECONDS = 15.0
_RATE_AT_START = 20
"""Until the first result comes: what waits for a program to start is not to be worked through while it is measured."""
_SETTLING_SECONDS = 3.0
_MOST_P50_MS = 1_000
_STOOD_STILL_MS = 2_000
_RISING = 2.0
_NEARLY_ALL = 0.9

Figures = dict[str, float]


class _Way(NamedTuple):
    """A contender between two topics."""

    feed: Feed
    reader: Reader
    process: int


def measure_latency(
    cache: Path,
    only: Collection[str] | None = None,
    *,
    rate: int = RATE,
    seconds: float = SECONDS,
    warm_up: float = WARM_UP_SECONDS,
) -> dict[str, Figures]:
    """The figures of each contender, by its name."""
    found: dict[str, Figures] = {}
    for name, contender in CONTENDERS.items():
        if only and name not in only:
            continue
        work = _directory_of(contender, cache)
        with _running(contender, work) as (feed, reader, _):
            reader.wait_for_first()
            feed.change_rate(rate)
            reader.read(warm_up)
            sent = feed.sent
            arrivals = reader.read(seconds)
            figures = figures_of(arrivals, feed.sent - sent)
        if not arrivals:
            print(f"  {name:28} no result came in {seconds:g} s", flush=True)
            continue
        found[name] = figures
        print(f"  {name:28}" + "".join(f" {key} {value:,.1f}" for key, value in figures.items()), flush=True)
        if figures["max_ms"] > _STOOD_STILL_MS:
            print(f"    a record stood still for {figures['max_ms'] / 1000:.1f} s: {work / 'log'}", flush=True)
    return found


def measure_sustained(
    cache: Path,
    names: Collection[str],
    rates: Sequence[int],
    *,
    seconds: float = SECONDS,
    warm_up: float = WARM_UP_SECONDS,
) -> dict[str, list[Figures]]:
    """Contenders whose input comes faster from step to step, until results fall behind; the figures of each step.

    Of a step, only records count that were sent some seconds after its beginning. The last step is the one in which
    the job (`behind` is 1) or the sending of records (`sent` says so) could not keep up.
    """
    return {name: _steps_of(CONTENDERS[name], cache, rates, seconds, warm_up) for name in names}


def _steps_of(contender: Contender, cache: Path, rates: Sequence[int], seconds: float, warm_up: float) -> list[Figures]:
    steps: list[Figures] = []
    print(f"  {contender.name}", flush=True)
    with (
        _running(contender, _directory_of(contender, cache)) as (feed, reader, process),
        TreeWatch(process) as watch,
    ):
        reader.wait_for_first()
        feed.change_rate(rates[0])
        reader.read(warm_up)
        for rate in rates:
            feed.change_rate(rate)
            reader.read(_SETTLING_SECONDS)
            settled, sent, cpu = time.time(), feed.sent, watch.cpu_seconds
            arrivals = [each for each in reader.read(seconds) if each.sent >= settled]
            step = {"rate": float(rate), **figures_of(arrivals, feed.sent - sent)}
            step["cpu_us"] = round(1e6 * (watch.cpu_seconds - cpu) / max(1.0, step["sent"]), 1)
            step["behind"] = float(falls_behind(arrivals, step))
            steps.append(step)
            print("    " + " ".join(f"{key} {value:,.1f}" for key, value in step.items()), flush=True)
            if step["behind"] or step["sent"] < _NEARLY_ALL * rate * seconds:
                break
    return steps


def falls_behind(arrivals: list[Arrival], step: Figures) -> bool:
    """Whether results are late, come later and later, or come in smaller numbers than records go in."""
    third = len(arrivals) // 3
    if third == 0 or step["results"] < _NEARLY_ALL * step["sent"] or step["p50_ms"] > _MOST_P50_MS:
        return True
    first, last = (
        statistics.median(each.latency_ms for each in part) for part in (arrivals[:third], arrivals[-third:])
    )
    return last > _RISING * first and last > _MOST_P50_MS / 4


def figures_of(arrivals: Sequence[Arrival], sent: int) -> Figures:
    """Percentiles, the slowest of all, and how many came of how many."""
    ascending = sorted(each.latency_ms for each in arrivals) or [float("inf")]
    return {
        **{f"p{percent}_ms": round(percentile(ascending, percent), 2) for percent in (50, 95, 99)},
        "max_ms": round(ascending[-1], 2),
        "results": float(len(arrivals)),
        "sent": float(sent),
    }


def _directory_of(contender: Contender, cache: Path) -> Path:
    """Where a run has its files and its log; those of earlier runs stay."""
    runs = cache / "latency" / contender.name.replace(" ", "-")
    return runs / time.strftime("%Y-%m-%d-%H%M%S")


@contextmanager
def _running(contender: Contender, work: Path) -> Generator[_Way]:
    """A broker, a feed that sends little yet, and the contender between two topics. Its log stays."""
    python = python_of(contender.environment)
    work.mkdir(parents=True)
    broker = KafkaBroker(work / "broker")
    try:
        broker.start()
        source, target = (broker.create_topic(name, partitions=PARTITIONS) for name in ("records", "results"))
        command = [str(python), str(BENCHMARKS / "latency" / contender.command[0]), broker.bootstrap, source, target]
        with (work / "log").open("wb") as log, Feed(broker.bootstrap, source, _RATE_AT_START) as feed:
            job = subprocess.Popen(
                [*command, str(work), *contender.command[1:]],
                env={**os.environ, "PYTHONPATH": str(BENCHMARKS)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                reader = Reader(broker.bootstrap, target, job, work / "log")
                yield _Way(feed, reader, job.pid)
                reader.close()
            finally:
                os.killpg(job.pid, signal.SIGKILL)
                job.wait(60)
    finally:
        broker.delete()
        for left in work.iterdir():
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
