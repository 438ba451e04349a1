"""Measures small epochs from outside: records into Kafka, then a look at the sink's directory until they are there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from common.measure import BENCHMARKS
from services.kafka import KafkaBroker

RECORDS = 100
ROUNDS = 60
WARM_UP_ROUNDS = 20
LOOK_EVERY_SECONDS = 0.005
ROUND_TIMEOUT_SECONDS = 60


def measure_small_epochs(cache: Path) -> dict[str, Any]:
    """Latencies of rounds of 100 records, and how long the job took to its first result."""
    work = cache / "small_epoch"
    shutil.rmtree(work, ignore_errors=True)
    output = work / "output"
    output.mkdir(parents=True)
    bare = _run_bare_epochs()
    broker = KafkaBroker(work / "broker")
    job: subprocess.Popen[bytes] | None = None
    try:
        broker.start()
        topic = broker.create_topic("small", partitions=2)
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "log_level": 0})
        published = PublishedRecords(output)
        _produce(producer, topic, 0)
        started = time.perf_counter()
        with (work / "log").open("wb") as log:
            job = _start_job(broker.bootstrap, topic, work, log)
            published.wait_for(RECORDS, job, work / "log")
            first_result = time.perf_counter() - started
            latencies: list[float] = []
            for number in range(1, WARM_UP_ROUNDS + ROUNDS + 1):
                _produce(producer, topic, number)
                sent = time.perf_counter()
                published.wait_for((number + 1) * RECORDS, job, work / "log")
                latencies.append((time.perf_counter() - sent) * 1000)
    finally:
        if job is not None:
            job.send_signal(signal.SIGINT)
            job.wait(60)
        broker.delete()
    return {
        "latencies_ms": latencies[WARM_UP_ROUNDS:],
        "first_result_seconds": first_result,
        "bare_epoch_ms": bare,
    }


class PublishedRecords:
    """Counts the records in the files that the sink has published; every file is read once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._seen: set[Path] = set()
        self._count = 0

    def wait_for(self, count: int, job: subprocess.Popen[bytes], log: Path) -> None:
        """Returns when so many records are there; more than that is an error."""
        deadline = time.monotonic() + ROUND_TIMEOUT_SECONDS
        while self._look() < count:
            if job.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self._count} of {count} records arrived:\n{log.read_text()[-4000:]}")
            time.sleep(LOOK_EVERY_SECONDS)
        if self._count > count:
            raise RuntimeError(f"{self._count} records were published, {count} were sent")

    def _look(self) -> int:
        for path in self._directory.iterdir():
            if not path.name.startswith(".") and path not in self._seen:
                self._seen.add(path)
                self._count += path.read_bytes().count(b"\n")
        return self._count


def _produce(producer: Producer, topic: str, round_number: int) -> None:
    for number in range(RECORDS):
        value = json.dumps({"k": number % 10, "v": 1, "ts": round_number * RECORDS + number})
        producer.produce(topic, value, partition=number % 2)
    if producer.flush(30):
        raise RuntimeError("the broker did not take the records")


def _start_job(bootstrap: str, topic: str, work: Path, log: Any) -> subprocess.Popen[bytes]:
    arguments = [bootstrap, topic, str(work / "output"), str(work / "checkpoint")]
    return subprocess.Popen(
        [sys.executable, str(BENCHMARKS / "small_epoch" / "penstock_job.py"), *arguments],
        env={**os.environ, "PYTHONPATH": str(BENCHMARKS), "SPARK_MASTER": "local[2]"},
        stdout=log,
        stderr=log,
    )


def _run_bare_epochs() -> float:
    script = BENCHMARKS / "small_epoch" / "bare_epoch.py"
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS)}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    return float(done.stdout.split()[-1])
