"""The job that the fault tests break: files in, a rolling sum per key with state, files out. Also run as a script."""

from __future__ import annotations

import argparse
import json
import os
import random
from collections import Counter
from pathlib import Path

from penstock.common import Configuration, Row, Types, fail_points
from penstock.connectors.files import FileSink, FileSource, JsonLinesFormat
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.execution.job_client import JobClient

INPUT = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.LONG()])
OUTPUT = Types.ROW_NAMED(["k", "n", "total", "noise"], [Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()])


class RollingSum(KeyedProcessFunction):
    """Yields, per record, its number among its key's records and the sum so far.

    With noise, every attempt at an epoch yields something else: replays must not depend on getting the same bytes.
    """

    def __init__(self, noise: bool) -> None:
        self._noise = noise

    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("sum", Types.TUPLE([Types.LONG(), Types.LONG()])))

    def process_element(self, value, ctx):
        count, total = self._state.value() or (0, 0)
        count, total = count + 1, total + value.v
        self._state.update((count, total))
        yield Row(k=value.k, n=count, total=total, noise=random.getrandbits(40) if self._noise else 0)


class Forward(KeyedProcessFunction):
    """Passes on what it gets; its fail points tell the subtasks apart."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._point = f"program.forward.{runtime_context.get_index_of_this_subtask()}"

    def process_element(self, value, ctx):
        fail_points.reach(self._point)
        yield value


def write_input(directory: Path, *, files: int = 6, records: int = 20, keys: int = 5, seed: int = 1) -> None:
    """Files whose order of modification is their order of names."""
    directory.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    for number in range(files):
        path = directory / f"{number:04d}.json"
        lines = (json.dumps({"k": f"key-{rng.randrange(keys)}", "v": rng.randrange(1000)}) for _ in range(records))
        path.write_text("".join(f"{line}\n" for line in lines))
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))


def expected(directory: Path) -> Counter[tuple[str, int, int]]:
    """(key, number, sum) of every record, from a plain loop over the input."""
    sums: dict[str, tuple[int, int]] = {}
    results: Counter[tuple[str, int, int]] = Counter()
    for path in sorted(directory.glob("*.json")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            count, total = sums.get(record["k"], (0, 0))
            sums[record["k"]] = (count + 1, total + record["v"])
            results[record["k"], count + 1, total + record["v"]] += 1
    return results


def published(directory: Path) -> Counter[tuple[str, int, int]]:
    """What a reader of the sink's directory sees."""
    results: Counter[tuple[str, int, int]] = Counter()
    for path in directory.glob("*.json"):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            results[record["k"], record["n"], record["total"]] += 1
    return results


def start_job(
    *,
    source: Path,
    sink: Path,
    checkpoint: Path,
    options: dict[str, str],
    noise: bool,
    parallelism: int = 2,
    exchange_noise: bool = False,
) -> JobClient:
    """Starts or resumes the job; with a second exchange, in which the noise decides where a record goes, on demand."""
    configuration = Configuration()
    for key, value in {"execution.checkpointing.dir": str(checkpoint), **options}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    files = FileSource.for_record_stream_format(JsonLinesFormat(INPUT), str(source)).build()
    sums = env.from_source(files, None, "payments").key_by("k").process(RollingSum(noise), output_type=OUTPUT)
    if exchange_noise:
        sums = sums.key_by(lambda row: row.total + row.noise, Types.LONG()).process(Forward(), output_type=OUTPUT)
    sums.sink_to(FileSink(str(sink), "json"))
    return env.execute_async("rolling sums")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--exchange-noise", action="store_true")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    options = dict(option.split("=", 1) for option in arguments.option)
    job = start_job(
        source=arguments.directory / "in",
        sink=arguments.directory / "out",
        checkpoint=arguments.directory / "checkpoint",
        options=options,
        noise=arguments.noise,
        parallelism=arguments.parallelism,
        exchange_noise=arguments.exchange_noise,
    )
    job.wait()


if __name__ == "__main__":
    main()
