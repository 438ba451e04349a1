"""Keeps the last value of every key. Says how long epochs took, what they wrote, and what the first one took.

penstock_state.py INPUT CHECKPOINT LOCAL CHANGED [--without-state] [--savepoint]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

from common.penstock_job import PARALLELISM
from penstock.common import Configuration, Types
from penstock.common.time import Duration
from penstock.connectors.files import FileSource, JsonLinesFormat
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction
from penstock.datastream.state import ValueStateDescriptor

RECORD = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.STRING()])
MEASURED = 8


class KeepLast(KeyedProcessFunction):
    """One value a key."""

    def open(self, runtime_context):
        self._last = runtime_context.get_state(ValueStateDescriptor("last", Types.STRING()))

    def process_element(self, value, ctx):
        self._last.update(value.v)


class KeepNothing(KeyedProcessFunction):
    """The same way through the job, without state."""

    def process_element(self, value, ctx):
        pass


def main() -> None:
    directory, checkpoint, local, changed = sys.argv[1:5]
    configuration = Configuration()
    for key, value in {
        "execution.checkpointing.dir": checkpoint,
        "state.local-dir": local,
        "execution.epoch.max-records": changed,
        "logging.level": "error",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(PARALLELISM)
    # It never ends: the next start of it finds the files of the rounds to come.
    source = (
        FileSource.for_record_stream_format(JsonLinesFormat(RECORD), directory)
        .monitor_continuously(Duration.of_millis(100))
        .build()
    )
    records = sum(path.read_bytes().count(b"\n") for path in Path(directory).glob("*.json"))
    function = KeepNothing() if "--without-state" in sys.argv else KeepLast()
    env.from_source(source, None, "rounds").key_by("k").process(function, Types.STRING()).uid("last").print()
    started = time.perf_counter()
    job = env.execute_async("rounds")
    first = savepoint_seconds = None
    while not job.has_ended(within=0.02):
        metrics = job.metrics()
        if first is None and metrics["recent_epochs"]:
            first = metrics["recent_epochs"][0]
        if metrics["records_read"] >= records and not metrics["tasks_done_in_epoch"]:
            if "--savepoint" in sys.argv and savepoint_seconds is None:
                asked = time.perf_counter()
                job.trigger_savepoint(f"{checkpoint}-savepoint").result()
                savepoint_seconds = time.perf_counter() - asked
            job.cancel()
    metrics = job.metrics()
    epochs = [each for each in metrics["recent_epochs"] if each["records"]][-MEASURED:]
    total = [each["plan"] + each["run"] + each["publish_wait"] + each["commit"] for each in epochs]
    first = first or metrics["recent_epochs"][0]
    print(
        "RESULT "
        + json.dumps(
            {
                "epoch_ms": statistics.median(total) * 1000,
                "commit_ms": statistics.median(each["commit"] for each in epochs) * 1000,
                "first_epoch_s": first["plan"] + first["run"] + first["publish_wait"] + first["commit"],
                "savepoint_s": savepoint_seconds,
                "state_bytes_fetched": metrics["state_bytes_fetched"],
                "seconds": time.perf_counter() - started,
                "state_bytes_written": metrics["state_bytes_written"],
                "state": metrics["state"],
                "epochs": metrics["epochs"],
            }
        )
    )


if __name__ == "__main__":
    main()
