"""How long records are on their way, Kafka to Kafka: 1,000 a second, p50 and p99, one program after the other.

    python benchmarks/latency/run.py [--only NAME ...] [--rate N] [--seconds N]

Producer and reader run in this process, the broker beside it on the same cores. Messages are read one by one: reading
many at once would wait for them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "benchmarks"), str(CHECKOUT / "tests")]

from confluent_kafka import Consumer, Producer, TopicPartition  # noqa: E402

from services.kafka import KafkaBroker  # noqa: E402

CACHE = Path(os.environ.get("PENSTOCK_CACHE", CHECKOUT / ".cache"))
BENCHMARKS = CHECKOUT / "benchmarks"
PARTITIONS = 2
KEYS = 50
START_TIMEOUT_SECONDS = 120
WARM_UP_SECONDS = 15.0


@dataclass(frozen=True)
class Contender:
    """A program between the two topics."""

    name: str
    command: tuple[str, ...]
    """The script, and its arguments behind the addresses."""
    p50_goal_ms: float | None = None
    p99_goal_ms: float | None = None


CONTENDERS = (
    Contender("pipelined stateless", ("penstock_job.py", "stateless", "pipelined"), 2, 250),
    Contender("pipelined keyed", ("penstock_job.py", "keyed", "pipelined"), 25, 500),
    Contender("pipelined window", ("penstock_job.py", "window", "pipelined"), 150),
    Contender("epochs keyed", ("penstock_job.py", "keyed", "epochs"), 350),
    Contender("spark transformWithState", ("spark_job.py",)),
)


def measure_latency(
    cache: Path, only: list[str] | None = None, rate: int = 1000, seconds: float = 30
) -> dict[str, dict[str, float]]:
    """The figures of each contender, by its name."""
    figures: dict[str, dict[str, float]] = {}
    for contender in CONTENDERS:
        if only and contender.name not in only:
            continue
        work = cache / "latency"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        broker = KafkaBroker(work / "broker")
        try:
            broker.start()
            measured = figures[contender.name] = _measure(contender, broker, work, rate, seconds)
        finally:
            broker.delete()
        print(
            f"  {contender.name:28}" + "".join(f" {name} {value:,.1f}" for name, value in measured.items()), flush=True
        )
    return figures


def _measure(contender: Contender, broker: KafkaBroker, work: Path, rate: int, seconds: float) -> dict[str, float]:
    source, target = (broker.create_topic(name, partitions=PARTITIONS) for name in ("records", "results"))
    with (work / "log").open("wb") as log, Feed(broker.bootstrap, source, rate) as feed:
        job = subprocess.Popen(
            [
                sys.executable,
                str(BENCHMARKS / "latency" / contender.command[0]),
                *(broker.bootstrap, source, target, str(work)),
                *contender.command[1:],
            ],
            env={**os.environ, "PYTHONPATH": str(BENCHMARKS)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            latencies = Reader(broker.bootstrap, target).read(job, work / "log", seconds)
            sent = feed.sent
        finally:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait(60)
    latencies.sort()
    return {
        "p50_ms": _percentile(latencies, 50),
        "p95_ms": _percentile(latencies, 95),
        "p99_ms": _percentile(latencies, 99),
        "results": float(len(latencies)),
        "sent": float(sent),
    }


class Feed:
    """Sends records at a steady rate, each with the second in which it was sent, from a thread of its own."""

    def __init__(self, bootstrap: str, topic: str, rate: int) -> None:
        self._topic = topic
        self._rate = rate
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sent = 0

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join(30)

    def _run(self) -> None:
        started = time.time()
        while not self._ended.wait(0.001):
            due = int((time.time() - started) * self._rate)
            while self.sent < due:
                value = json.dumps({"k": f"key-{self.sent % KEYS}", "t": time.time()})
                self._producer.produce(self._topic, value, partition=self.sent % PARTITIONS)
                self.sent += 1
            self._producer.poll(0)


class Reader:
    """Reads results as they come."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "latency",
                "fetch.wait.max.ms": 5,
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])

    def read(self, job: subprocess.Popen[bytes], log: Path, seconds: float) -> list[float]:
        """The time on the way, in ms, of all results of some seconds that begin when the job is warm."""
        latencies: list[float] = []
        first: float | None = None
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while first is None or time.monotonic() < first + WARM_UP_SECONDS + seconds:
            message: Any = self._consumer.poll(0.1)
            if job.poll() is not None or (first is None and time.monotonic() > deadline):
                raise RuntimeError(f"no results came:\n{log.read_text()[-4000:]}")
            if message is None or message.error() is not None:
                continue
            latency = (time.time() - json.loads(message.value())["t"]) * 1000
            if first is None:
                first = time.monotonic()
            if time.monotonic() > first + WARM_UP_SECONDS:
                latencies.append(latency)
        self._consumer.close()
        return latencies


def _percentile(ascending: list[float], percent: float) -> float:
    return ascending[min(len(ascending) - 1, int(len(ascending) * percent / 100))] if ascending else float("nan")


def main() -> int:
    """Prints the figures; the exit status says whether every goal was met."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", choices=[each.name for each in CONTENDERS])
    parser.add_argument("--rate", type=int, default=1000, help="records a second")
    parser.add_argument("--seconds", type=float, default=30, help="how long is measured, after a warm-up")
    options = parser.parse_args()
    figures = measure_latency(CACHE / "bench", options.only, options.rate, options.seconds)
    met = True
    for contender in CONTENDERS:
        measured = figures.get(contender.name)
        if measured is None:
            continue
        for name, goal in (("p50_ms", contender.p50_goal_ms), ("p99_ms", contender.p99_goal_ms)):
            if goal is not None and measured[name] > goal:
                met = False
                print(f"  MISSED: {contender.name}, {name} {measured[name]:.1f}, the goal is {goal:g}", flush=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
