"""The job of the crash matrix: keyed state, timers, windows, a broadcast stream, four sinks. Also run as a script."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from faults.matrix_clock import ClockOfFile
from faults.matrix_ledger import LedgerSink
from penstock.common import Configuration, Row, Types, WatermarkStrategy, fail_points
from penstock.common.clock import Clock
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.files import FileSink, FileSource, JsonLinesFormat
from penstock.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from penstock.datastream.functions import KeyedBroadcastProcessFunction, RuntimeContext
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.execution.job_client import JobClient

TIMER_MS = 500
WINDOW_MS = 1000
PAYMENT = Types.ROW_NAMED(["k", "v", "t"], [Types.STRING(), Types.LONG(), Types.LONG()])
RULE = Types.ROW_NAMED(["name", "limit"], [Types.STRING(), Types.LONG()])
RESULT_FIELDS = ["kind", "k", "n", "total", "rules", "noise"]
RESULT = Types.ROW_NAMED(RESULT_FIELDS, [Types.STRING(), Types.STRING(), *[Types.LONG()] * 4])
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class PaymentTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.t


class Account(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Numbers the payments of each key and adds them up; a timer at the end of each half second in which one came.

    Every attempt adds some noise: what is replayed must not depend on getting the same bytes.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.TUPLE([Types.LONG(), Types.LONG()])))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Row]:
        fail_points.reach("program.record")
        count, total = self._sum.value() or (0, 0)
        count, total = count + 1, total + value.v
        self._sum.update((count, total))
        ctx.timer_service().register_event_time_timer((value.t // TIMER_MS + 1) * TIMER_MS)
        rules = len(list(ctx.get_broadcast_state(RULES).items()))
        yield result("sum", value.k, count, total, rules)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value.name, value.limit)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        fail_points.reach("program.timer")
        yield result("timer", ctx.get_current_key(), timestamp, 0)


class Total(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value.v

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Named(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Any) -> Iterator[Row]:
        for count, total in elements:
            yield result("window", key, context.window().start, total, count)


def result(kind: str, key: str, number: int, total: int, rules: int = 0) -> Row:
    return Row(kind=kind, k=key, n=number, total=total, rules=rules, noise=random.getrandbits(40))


def is_sum(row: Any) -> bool:
    return row.kind == "sum"


def is_timer(row: Any) -> bool:
    return row.kind == "timer"


def write_matrix_input(directory: Path, *, files: int = 4, records: int = 15, keys: int = 4, seed: int = 7) -> None:
    """Payments with rising times, in files whose order of modification is their order of names; and some rules."""
    rng = random.Random(seed)
    now = 0
    for number in range(files):
        lines: list[dict[str, Any]] = []
        for _ in range(records):
            now += rng.randrange(120)
            lines.append({"k": f"key-{rng.randrange(keys)}", "v": rng.randrange(1000), "t": now})
        _write(directory / "payments" / f"{number:04d}.json", lines, number)
    _write(directory / "rules" / "0000.json", [{"name": f"rule-{n}", "limit": n} for n in range(3)], 0)


def _write(path: Path, lines: list[dict[str, Any]], number: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))


def start_matrix_job(
    source: Path,
    directory: Path,
    options: Mapping[str, str],
    *,
    clock: Clock | None = None,
    services: Any = None,
    parallelism: int = 2,
) -> JobClient:
    """Starts or resumes the job; its checkpoint and sinks are in `directory`, or in a broker and a database."""
    configuration = Configuration()
    for key, value in {"execution.checkpointing.dir": str(directory / "checkpoint"), **options}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment(configuration, clock=clock).set_parallelism(parallelism)
    files = FileSource.for_record_stream_format(JsonLinesFormat(PAYMENT), str(source / "payments")).build()
    payments = env.from_source(
        files if services is None else services.payments_source(PAYMENT),
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(PaymentTime()),
        "payments",
    )
    if options.get("execution.latency") == "pipelined":
        # Files cannot be followed.
        lines = (source / "rules" / "0000.json").read_text().splitlines()
        rules = env.from_collection([Row(**json.loads(line)) for line in lines], RULE)
    else:
        rules = env.from_source(
            FileSource.for_record_stream_format(JsonLinesFormat(RULE), str(source / "rules")).build(), None, "rules"
        )
    results = payments.key_by("k").connect(rules.broadcast(RULES)).process(Account(), RESULT).uid("account")
    windows = (
        payments.key_by("k")
        .window(TumblingEventTimeWindows.of(WINDOW_MS))
        .aggregate(Total(), Named(), output_type=RESULT)
        .uid("windows")
    )
    sums = results.filter(is_sum)
    sums.sink_to(FileSink(str(directory / "sums"), "json")).uid("sums-files")
    ledger = LedgerSink(directory / "sums.db", RESULT_FIELDS)
    sums.sink_to(ledger if services is None else services.sums_sink(RESULT)).uid("sums-in-order")
    results.filter(is_timer).sink_to(FileSink(str(directory / "timers"), "json")).uid("timers-files")
    ledger = LedgerSink(directory / "windows.db", RESULT_FIELDS)
    windows.sink_to(ledger if services is None else services.windows_sink(RESULT)).uid("windows-in-rows")
    return env.execute_async("crash matrix")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--services", help="JSON of where topics and tables are")
    parser.add_argument("--clock", type=Path, help="the file that says by how many ms the clock is wrong")
    arguments = parser.parse_args()
    options = dict(option.split("=", 1) for option in arguments.option)
    services = None
    if arguments.services:
        # Needs the clients of Kafka and PostgreSQL.
        from faults.matrix_services import MatrixServices

        services = MatrixServices.from_json(arguments.services)
    clock = None if arguments.clock is None else ClockOfFile(arguments.clock)
    start_matrix_job(arguments.source, arguments.directory, options, clock=clock, services=services).wait()


if __name__ == "__main__":
    # Workers import the job's functions by this name.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
