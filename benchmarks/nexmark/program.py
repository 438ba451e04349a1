"""Runs a query of Nexmark with Penstock.

    python benchmarks/nexmark/program.py --query q5 --input DIR --work DIR --result FILE [--rows DIR] [--kafka SERVERS]
        [--record-by-record]

README.md says what the arguments mean and what is in the result.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STARTED = time.time()
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.epoch_times import EpochTimes  # noqa: E402
from nexmark.events import Events  # noqa: E402
from nexmark.queries import record_by_record  # noqa: E402
from nexmark.schema import QUERIES  # noqa: E402
from nexmark.sinks import ChecksumSink, LatestVersionsSink, read_sums  # noqa: E402
from penstock.common import Configuration  # noqa: E402
from penstock.datastream import DataStream, StreamExecutionEnvironment  # noqa: E402
from penstock.datastream.connectors.file_system import FileSink  # noqa: E402

PARALLELISM = 2
LOOK_EVERY_SECONDS = 0.1


@dataclass(frozen=True)
class Arguments:
    """What the runner tells the program."""

    query: str
    input: Path
    work: Path
    result: Path
    rows: Path | None = None
    kafka: str | None = None
    records_per_epoch: int = 1_000_000
    record_by_record: bool = False


def parse_arguments() -> Arguments:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--query", choices=sorted(QUERIES), required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="an empty directory for state and output")
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--rows", type=Path, help="where the rows of the result go; else they are only counted")
    parser.add_argument("--kafka", help="bootstrap servers of a broker with the events (topics.py)")
    parser.add_argument("--records-per-epoch", type=int, default=Arguments.records_per_epoch)
    parser.add_argument("--record-by-record", action="store_true", help="the programs of queries/record_by_record.py")
    return Arguments(**vars(parser.parse_args()))


def make_environment(arguments: Arguments) -> StreamExecutionEnvironment:
    """Two cores, a durable checkpoint."""
    configuration = Configuration()
    configuration.set_string("spark.master", f"local[{PARALLELISM}]")
    configuration.set_string("execution.checkpointing.dir", str(arguments.work / "checkpoint"))
    configuration.set_string("state.local-dir", str(arguments.work / "local"))
    configuration.set_integer("execution.epoch.max-records", arguments.records_per_epoch)
    # Large epochs: their size is given in records, and what is exchanged in one of them stays in memory.
    configuration.set_string("execution.epoch.max-bytes", "2 gb")
    configuration.set_string("execution.gather-memory", "512 mb")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(PARALLELISM)


@dataclass
class Output:
    """Where the results of a run are."""

    rows: Path | None
    """A directory of files, or None where they were only counted."""
    sums: Path

    def attach(self, results: DataStream, query: str) -> None:
        """Sends the results there."""
        if self.rows is None:
            results.sink_to(ChecksumSink(QUERIES[query], self.sums))
        elif QUERIES[query].key:
            self.rows.mkdir(parents=True, exist_ok=True)
            results.sink_to(LatestVersionsSink(QUERIES[query], self.rows))
        else:
            results.sink_to(FileSink(str(self.rows), "parquet"))

    def report(self) -> dict[str, Any]:
        """What the result says of it."""
        if self.rows is not None:
            return {"output": str(self.rows)}
        rows, checksum = read_sums(self.sums)
        return {"rows": rows, "checksum": checksum, "texts": "contents"}


def run(arguments: Arguments) -> None:
    """Runs the query and writes the result."""
    env = make_environment(arguments)
    events = Events(env, arguments.input, arguments.kafka)
    query = importlib.import_module(f"nexmark.queries.{arguments.query}")
    # Results that are replaced by later ones have no checksum before the last one is known, and windows of processing
    # time have none at all: they are kept.
    keeps_rows = arguments.rows is not None or QUERIES[arguments.query].key or arguments.query == "q12"
    output = Output((arguments.rows or arguments.work / "rows") if keeps_rows else None, arguments.work / "sums")
    if hasattr(query, "write"):  # a query that is about its sink has one of its own
        output.rows = arguments.rows or arguments.work / "rows"
        query.write(events, output.rows)
    else:
        results = record_by_record.PROGRAMS[arguments.query] if arguments.record_by_record else query.results
        output.attach(results(events), arguments.query)
    samples, startup_seconds = run_measured(env, arguments.query)
    result = {"samples": samples, "startup_seconds": startup_seconds, **output.report()}
    arguments.result.write_text(json.dumps(result))


def run_measured(env: StreamExecutionEnvironment, name: str) -> tuple[list[tuple[int, float]], float]:
    """Runs the job to its end. Returns records and seconds of each epoch, and what passed before the first."""
    job = env.execute_async(name)
    times = EpochTimes()
    first_epoch_ended = None
    while not job.has_ended(LOOK_EVERY_SECONDS):
        times.look(job.metrics()["recent_epochs"])
        if first_epoch_ended is None and times.samples:
            first_epoch_ended = time.time()
    job.wait()
    ended = time.time()
    times.look(job.metrics()["recent_epochs"])
    first_epoch_ended = first_epoch_ended or ended
    startup_seconds = first_epoch_ended - STARTED - times.samples[0][1]
    # What the epochs do not account for (the last one's publication, say) belongs to the run, too.
    rest = ended - STARTED - startup_seconds - sum(seconds for _, seconds in times.samples)
    records, seconds = times.samples[-1]
    times.samples[-1] = (records, seconds + max(rest, 0.0))
    return times.samples, startup_seconds


if __name__ == "__main__":
    run(parse_arguments())
