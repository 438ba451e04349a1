"""A running sum per key with so many partitions; says what its epochs and tasks took.

scaled_job.py PARTITIONS RECORDS_PER_EPOCH KEYS EPOCHS ALL_EPOCHS CHECKPOINT LOCAL [MASTER]

It is cancelled after EPOCHS, behind those that warm it up; its input has ALL_EPOCHS. With a master whose executors are
processes of their own, the driver's JVM is one that works for the driver alone.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.process_tree import children, cpu_seconds
from penstock.common import Configuration, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor

WARM_UP = 3
PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])


class Sum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        total = (self._sum.value() or 0) + value
        self._sum.update(total)
        if total < 0:
            yield value, total


def main() -> None:
    partitions, per_epoch, keys, epochs, all_epochs = map(int, sys.argv[1:6])
    checkpoint, local, *master = sys.argv[6:9]
    configuration = Configuration()
    for key, value in {
        "execution.checkpointing.dir": checkpoint,
        "state.local-dir": local,
        "execution.runtime-mode": "STREAMING",
        "execution.epoch.max-records": str(per_epoch),
        "logging.level": "error",
    }.items():
        configuration.set_string(key, value)
    for each in master:
        configuration.set_string("spark.master", each)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(partitions)
    numbers = env.from_sequence(1, per_epoch * all_epochs)
    numbers.key_by(lambda number: number % keys, Types.LONG()).process(Sum(), PAIR).uid("sum").print()
    cpu = _driver_cpu()
    job = env.execute_async("scale")
    seen: dict[int, dict[str, Any]] = {}
    jvm: list[tuple[int, float]] = []
    while not job.has_ended(within=0.2):
        metrics = job.metrics()
        seen |= {each["number"]: each for each in metrics["recent_epochs"]}
        if len(seen) >= WARM_UP:
            jvm.append((metrics["epochs"], _jvm_cpu()))
        if len(seen) >= epochs + WARM_UP:
            job.cancel()
    job.wait()
    metrics = job.metrics()
    seen |= {each["number"]: each for each in metrics["recent_epochs"]}
    measured = [each for _, each in sorted(seen.items()) if each["records"]][WARM_UP:]
    stages: dict[str, dict[str, float]] = {}
    for name, task in metrics["tasks"].items():
        stage = stages.setdefault(name.partition("/")[0], {"busy_ms": 0.0, "bytes_out": 0.0})
        stage["busy_ms"] += task["busy_ms"]
        stage["bytes_out"] += task["bytes_out"]
    records = metrics["records_read"]
    result = {
        "partitions": partitions,
        "records_per_epoch": per_epoch,
        "keys": keys,
        "epochs": len(measured),
        **{f"{part}_ms": 1000 * statistics.median(each[part] for each in measured) for part in _PARTS},
        "driver_cpu_ms_per_epoch": 1000 * (_driver_cpu() - cpu) / max(1, metrics["epochs"]),
        # Its start takes longer than many epochs: it is left out.
        "jvm_cpu_ms_per_epoch": 1000 * (jvm[-1][1] - jvm[0][1]) / max(1, jvm[-1][0] - jvm[0][0]),
        "us_per_record": {stage: 1000 * each["busy_ms"] / records for stage, each in stages.items()},
        "bytes_per_record": {stage: each["bytes_out"] / records for stage, each in stages.items()},
        "state_bytes_written_per_epoch": metrics["state_bytes_written"] / max(1, metrics["epochs"]),
        "state_bytes_fetched": metrics["state_bytes_fetched"],
        "state_moves": metrics["state_moves"],
        "state_entries": sum(each["entries"] for each in metrics["state"].values()),
    }
    print("RESULT " + json.dumps(result))


_PARTS = ("plan", "run", "publish_wait", "commit")


def _driver_cpu() -> float:
    """Of this process alone: the JVM and the workers are others."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _jvm_cpu() -> float:
    """Of the JVM that this process has started, without the executors that are processes of their own."""
    (jvm,) = (each for each in children(os.getpid()) if Path(f"/proc/{each}/comm").read_text().strip() == "java")
    return cpu_seconds(jvm)


if __name__ == "__main__":
    main()
