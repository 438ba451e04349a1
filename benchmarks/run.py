"""Runs the benchmarks one after the other and writes docs/benchmarks.md.

    python benchmarks/run.py [--only NAME ...] [--contender NAME ...] [--records N]

`--records` and `--contender` are for trying things out: nothing is judged then, nothing is written to docs/.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(CHECKOUT / "benchmarks"), str(CHECKOUT / "tests")]

from common.environments import python_of  # noqa: E402
from common.inputs import InputSpec, expected_of, make_input  # noqa: E402
from common.measure import Measurement, of_rounds, run_contender  # noqa: E402
from common.report import keep, load_results, save_results  # noqa: E402
from latency.measure import measure_latency  # noqa: E402
from latency.report import save_latency  # noqa: E402
from services.kafka import KafkaBroker  # noqa: E402
from small_epoch.rounds import measure_small_epochs  # noqa: E402
from state_size.rounds import measure_state_sizes  # noqa: E402
from suite import THROUGHPUT, Benchmark, Contender  # noqa: E402

CACHE = Path(os.environ.get("PENSTOCK_CACHE", CHECKOUT / ".cache"))


def main() -> int:
    """Measures what was asked for; the exit status says whether every goal that a ratio sets was met."""
    options = parse_options()
    results = load_results()
    met = True
    for benchmark in THROUGHPUT:
        if options.only and benchmark.name not in options.only:
            continue
        print(f"{benchmark.title}", flush=True)
        measurements = run_benchmark(benchmark, options.records, options.contender)
        if not options.contender and not options.records:
            met &= goals_are_met(benchmark, measurements)
            keep(results, benchmark.name, [dataclasses.asdict(each) for each in measurements])
            save_results(results)
    if not options.only or "state_size" in options.only:
        print("Running sum with more and more keys in state", flush=True)
        keep(results, "state_size", measure_state_sizes(CACHE / "bench" / "input", options.records))
    if not options.only or "small_epoch" in options.only:
        print("Small epochs", flush=True)
        small = measure_small_epochs(CACHE / "bench")
        keep(results, "small_epoch", small)
        median = statistics.median(small["latencies_ms"])
        print(f"  median {median:.0f} ms, first result after {small['first_result_seconds']:.1f} s", flush=True)
    if not options.only or "latency" in options.only:
        print("Latency, Kafka to Kafka, 1,000 records/s", flush=True)
        latency = {"runs": measure_latency(CACHE / "bench")}
        if not options.records and not options.contender:
            save_latency(latency)
    if not options.records and not options.contender:
        save_results(results)
    return 0 if met else 1


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", help="names of benchmarks")
    parser.add_argument("--contender", nargs="*", help="run only these contenders; nothing is written to docs/")
    parser.add_argument("--records", type=int, help="size of the input; nothing is written to docs/")
    return parser.parse_args()


def run_benchmark(benchmark: Benchmark, records: int | None, only: list[str] | None) -> list[Measurement]:
    """Runs the contenders of one benchmark, in turn where there are several rounds."""
    contenders = [each for each in benchmark.contenders if not only or each.name in only]
    runs: dict[str, list[Measurement]] = {each.name: [] for each in contenders}
    for _ in range(benchmark.rounds):
        for contender in contenders:
            measurement = measure(benchmark, contender, records or benchmark.records)
            rate, memory = measurement.records_per_second, measurement.worker_mb
            print(f"  {contender.name:32} {rate:>12,.0f} records/s {memory:>8.0f} MB", flush=True)
            runs[contender.name].append(measurement)
    return [of_rounds(each) for each in runs.values()]


def measure(benchmark: Benchmark, contender: Contender, records: int) -> Measurement:
    """Runs one contender on its share of the input."""
    share = int(records * contender.share)
    files = max(benchmark.files_per_epoch * 2, share // benchmark.records_per_file)
    directory = make_input(CACHE / "bench" / "input", InputSpec(share // files * files, benchmark.keys, files))
    command = [str(python_of(contender.environment)), str(CHECKOUT / "benchmarks" / contender.script)]
    expected = expected_of(directory, contender.answer or benchmark.answer)
    if not contender.needs_broker:
        return run_contender(
            contender.name,
            command,
            input_directory=directory,
            expected=expected,
            files_per_epoch=benchmark.files_per_epoch,
        )
    broker = KafkaBroker(CACHE / "bench" / "broker")
    try:
        broker.start()
        return run_contender(
            contender.name,
            command,
            input_directory=directory,
            expected=expected,
            files_per_epoch=benchmark.files_per_epoch,
            environment={"BENCHMARK_BROKER": broker.bootstrap},
        )
    finally:
        broker.delete()


def goals_are_met(benchmark: Benchmark, measurements: list[Measurement]) -> bool:
    """Prints every promised ratio that was missed."""
    rates = {each.contender: each.records_per_second for each in measurements}
    met = True
    for goal in benchmark.goals:
        ratio = rates[goal.ours] / rates[goal.contender]
        if ratio < goal.ratio:
            met = False
            print(f"  MISSED: {goal.ours} is {ratio:.2f} x {goal.contender}, the goal is {goal.ratio} x", flush=True)
    return met


if __name__ == "__main__":
    sys.exit(main())
