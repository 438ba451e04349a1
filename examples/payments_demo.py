"""Card payments as they come: keyed state per card, event-time windows per region, exactly-once files, a live table.

python examples/payments_demo.py                  runs for a minute
python examples/payments_demo.py --resume DIR     goes on after Ctrl-C, the end, or kill -9
python examples/payments_demo.py --verify DIR     proves that nothing was lost and nothing counted twice
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from penstock.common import Configuration, JobExecutionException, Types, WatermarkStrategy
from penstock.common.type_inference import infer_type
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.execution.job_client import JobClient
from penstock.execution.progress_view import JobProgressView

Record = TypeVar("Record")

CARDS = 500
REGIONS = ("north", "east", "south", "west")
WINDOW_MS = 10_000
OUT_OF_ORDER_MS = 2_000
PAYMENTS_PER_MS = 2
LATE_MS = 30_000
SUSPICIOUS_FACTOR = 8
SUSPICIOUS_AFTER = 5


class Payment(NamedTuple):
    number: int
    card: str
    cents: int
    region: str
    time: int
    """When it was made, in ms. Payments arrive a little out of order, and a few come half a minute late."""


class RegionTotal(NamedTuple):
    """What was paid in a region in one window of time."""

    region: str
    start: int
    count: int
    cents: int


class CardUpdate(NamedTuple):
    number: int
    card: str
    cents: int
    count: int
    total: int
    suspicious: bool


def payment(number: int) -> Payment:
    """The payment with this number: always the same, so that a result can be checked without keeping the input."""
    mixed = (number * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & 0xFFFFFFFFFFFFFFFF
    mixed ^= mixed >> 29
    card = min(mixed % CARDS, (mixed >> 16) % CARDS)  # the smaller of two: some cards are busier than others
    cents = 100 + (mixed >> 32) % 5_000
    if (mixed >> 8) % 500 == 0:
        cents *= 20
    delay = LATE_MS if (mixed >> 24) % 1_000 == 0 else (mixed >> 40) % OUT_OF_ORDER_MS
    made_at = max(0, number // PAYMENTS_PER_MS - delay)
    return Payment(number, f"card-{card:04d}", cents, REGIONS[card % len(REGIONS)], made_at)


def is_suspicious(cents: int, count_before: int, total_before: int) -> bool:
    """Far above what the card has paid on average so far."""
    return count_before >= SUSPICIOUS_AFTER and cents * count_before > SUSPICIOUS_FACTOR * total_before


class Rolling(KeyedProcessFunction):
    """Keeps the number and the sum of each card's payments, and emits both after every payment."""

    def open(self, runtime_context: RuntimeContext) -> None:
        state_type = Types.TUPLE([Types.LONG(), Types.LONG()])
        self._so_far = runtime_context.get_state(ValueStateDescriptor("count-and-total", state_type))

    def process_element(self, value: Payment, ctx: Any) -> Iterable[CardUpdate]:
        count, total = self._so_far.value() or (0, 0)
        suspicious = is_suspicious(value.cents, count, total)
        count, total = count + 1, total + value.cents
        self._so_far.update((count, total))
        return (CardUpdate(value.number, value.card, value.cents, count, total, suspicious),)


class CountAndSum(AggregateFunction):
    """The number of payments and their sum."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Payment, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value.cents

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class NameWindow(ProcessWindowFunction):
    """Adds the region and the window to a total."""

    def process(self, key: str, context: Any, elements: Iterable[tuple[int, int]]) -> Iterable[RegionTotal]:
        for count, cents in elements:
            yield RegionTotal(key, context.window().start, count, cents)


def add_windows(payments: DataStream, directory: Path) -> None:
    """Totals of every region in windows of event time; what comes after its window has fired goes to files too."""
    late = OutputTag("late payments", infer_type(Payment))
    totals = (
        payments.key_by("region")
        .window(TumblingEventTimeWindows.of(f"{WINDOW_MS} ms"))
        .side_output_late_data(late)
        .aggregate(CountAndSum(), NameWindow(), Types.TUPLE([Types.LONG(), Types.LONG()]), infer_type(RegionTotal))
        .name("Totals by region and window")
        .uid("windows")
    )
    totals.sink_to(FileSink(str(directory / "windows"), "json")).name("Window files").uid("window-files")
    late_payments = totals.get_side_output(late)
    late_payments.sink_to(FileSink(str(directory / "late"), "json")).name("Late payments").uid("late-files")


def start(directory: Path, engine: str, rate: float) -> JobClient:
    configuration = Configuration()
    configuration.set_string("execution.engine", engine)
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    configuration.set_string("execution.epoch.interval", "500 ms")
    configuration.set_string("logging.level", "warning")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    source = DataGeneratorSource(payment, rate_per_second=rate, type_info=infer_type(Payment))
    event_time = WatermarkStrategy.for_bounded_out_of_orderness(f"{OUT_OF_ORDER_MS} ms").with_timestamp_assigner(
        lambda made, _: made.time
    )
    payments = env.from_source(source, event_time, "Card payments").uid("payments")
    rolling = payments.key_by("card").process(Rolling()).name("Rolling totals").uid("rolling")
    rolling.sink_to(FileSink(str(directory / "results"), "json")).name("Result files").uid("results")
    add_windows(payments, directory)
    return env.execute_async("card payments")


def read_records(record_class: Callable[..., Record], paths: Iterable[Path]) -> Iterator[Record]:
    for path in paths:
        with path.open(encoding="utf-8") as file:
            for line in file:
                yield record_class(**json.loads(line))


class Board:
    """What the terminal shows: the job's own counts, and what is in the published files."""

    def __init__(self, directory: Path, client: JobClient) -> None:
        self._directory = directory
        self._client = client
        self._shown: set[Path] = set()
        self._late = 0
        self._windows: dict[int, dict[str, RegionTotal]] = {}
        self._totals: dict[str, tuple[int, int]] = {}
        self._suspicious: list[CardUpdate] = []
        self._published = 0
        self._progress = JobProgressView(client)

    def refresh(self) -> Group:
        """Reads what was published since the last time and draws everything."""
        self._read_new_files()
        panel = Panel(self._counts(), title=f"card payments: {self._client.status.name}", expand=False)
        return Group(panel, Columns([self._cards(), self._regions()]))

    def _read_new_files(self) -> None:
        for update in read_records(CardUpdate, self._new_files("results")):
            self._published += 1
            if update.count > self._totals.get(update.card, (0, 0))[0]:
                self._totals[update.card] = (update.count, update.total)
            if update.suspicious:
                self._suspicious = [*self._suspicious[-4:], update]
        for total in read_records(RegionTotal, self._new_files("windows")):
            self._windows.setdefault(total.start, {})[total.region] = total
        self._late += sum(1 for _ in read_records(Payment, self._new_files("late")))

    def _new_files(self, folder: str) -> list[Path]:
        new = sorted(set((self._directory / folder).glob("*.json")) - self._shown)
        self._shown.update(new)
        return new

    def _counts(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for name, value in (
            *self._progress.facts(),
            ("in result files", f"{self._published:,} payments of {len(self._totals)} cards"),
            ("late", f"{self._late:,} payments came after their window had fired"),
        ):
            table.add_row(name, value)
        return table

    def _cards(self) -> Table:
        table = Table(title="cards that paid most", expand=False)
        table.add_column("card")
        table.add_column("payments", justify="right")
        table.add_column("total", justify="right")
        table.add_column("last suspicious payment")
        suspicious = {update.card: update for update in self._suspicious}
        top = sorted(self._totals.items(), key=lambda item: -item[1][1])[:10]
        for card, (count, total) in top:
            flag = suspicious.get(card)
            table.add_row(card, f"{count:,}", f"{total / 100:,.2f}", f"{flag.cents / 100:,.2f}" if flag else "")
        if self._suspicious:
            latest = self._suspicious[-1]
            table.caption = f"latest suspicious payment: {latest.card}, {latest.cents / 100:,.2f}"
        return table

    def _regions(self) -> Table:
        table = Table(title=f"windows of {WINDOW_MS // 1000} s of event time", expand=False)
        table.add_column("from")
        for region in REGIONS:
            table.add_column(region, justify="right")
        for start in sorted(self._windows)[-10:]:
            totals = self._windows[start]
            sums = [f"{totals[region].cents / 100:,.0f}" if region in totals else "" for region in REGIONS]
            table.add_row(f"{start / 1000:.0f} s", *sums)
        return table


def run(directory: Path, engine: str, rate: float, seconds: float) -> int:
    """Runs until the time is over or Ctrl-C; returns the exit code."""
    console = Console()
    client = None
    try:
        say_where(console, directory)
        console.print(f"This is process {os.getpid()}: try [bold]kill -9 {os.getpid()}[/bold], then go on by")
        say_command(console, "resume:    ", "--engine", engine, "--resume", str(directory))
        with console.status(f"starting the {engine} engine"):
            client = start(directory, engine, rate)
            while not client.status.is_terminal_state() and client.metrics()["epochs"] == 0:
                time.sleep(0.1)
        show(console, Board(directory, client), client, seconds)
    except KeyboardInterrupt:
        console.print(f"Ctrl-C: {'the job ends after the epoch under way' if client else 'the job has not begun'}.")
    payments_read = 0
    if client is not None:
        client.cancel()
        try:
            client.wait()
        except JobExecutionException as failure:
            console.print(f"[red]the job failed[/red]\n{escape(str(failure))}")
            return 1
        payments_read = client.metrics()["records_read"]
        (directory / "summary.json").write_text(json.dumps({"payments": payments_read}))
    if payments_read:
        console.print(f"\n{payments_read:,} payments are in the result files.")
    say_where(console, directory)
    say_command(console, "check them:", "--verify", str(directory))
    say_command(console, "go on:     ", "--engine", engine, "--resume", str(directory))
    return 0


def say_where(console: Console, directory: Path) -> None:
    for name, folder in (("results:   ", "results"), ("checkpoint:", "checkpoint")):
        console.print(f"{name} {escape(str(directory / folder))}", soft_wrap=True)


def say_command(console: Console, what: str, *arguments: str) -> None:
    """A command to copy: in one line, however narrow the terminal is."""
    command = shlex.join([os.path.relpath(sys.executable), sys.argv[0], *arguments])
    console.print(f"{what} {escape(command)}", soft_wrap=True)


def show(console: Console, board: Board, client: JobClient, seconds: float) -> None:
    """Draws the board until the time is over or the job ends; a job that has lost its JVM goes on with another."""
    ends = time.monotonic() + seconds
    with Live(board.refresh(), console=console, refresh_per_second=4) as live:
        while not client.status.is_terminal_state() and time.monotonic() < ends:
            time.sleep(0.25)
            live.update(board.refresh())


def verify(directory: Path) -> list[str]:
    """What is wrong with the result files: every payment must be there once, and every total must be right."""
    updates = list(read_records(CardUpdate, sorted((directory / "results").glob("*.json"))))
    problems: list[str] = [] if updates else [f"there are no results in {directory / 'results'}"]
    seen = Counter(update.number for update in updates)
    problems += [f"payment {number} is there {times} times" for number, times in seen.items() if times > 1]
    expected = max(seen, default=-1) + 1
    summary = directory / "summary.json"
    if summary.exists():
        expected = max(expected, json.loads(summary.read_text())["payments"])
    problems += [f"payment {number} is missing" for number in range(expected) if number not in seen]
    by_card: dict[str, list[CardUpdate]] = {}
    for update in updates:
        if (update.card, update.cents) != payment(update.number)[1:3]:
            problems.append(f"{update} is not what payment {update.number} was")
        by_card.setdefault(update.card, []).append(update)
    for card, of_card in by_card.items():
        total = 0
        for position, update in enumerate(sorted(of_card, key=lambda update: update.count)):
            suspicious = is_suspicious(update.cents, position, total)
            total += update.cents
            right = update._replace(count=position + 1, total=total, suspicious=suspicious)
            if update != right:
                problems.append(f"{card}: {update} should be {right}")
                break
    print(f"{len(updates):,} results of {expected:,} payments on {len(by_card)} cards")
    return problems + wrong_windows(directory, expected)


def wrong_windows(directory: Path, payments: int) -> list[str]:
    """Each payment of a window that has fired is in its total or in the files of late ones, and there once."""
    totals = list(read_records(RegionTotal, sorted((directory / "windows").glob("*.json"))))
    late = list(read_records(Payment, sorted((directory / "late").glob("*.json"))))
    fired = Counter((total.region, total.start) for total in totals)
    problems = [f"window {window} has fired {times} times" for window, times in fired.items() if times > 1]
    late_times = Counter(each.number for each in late)
    problems += [f"late payment {number} is there {times} times" for number, times in late_times.items() if times > 1]
    on_time: dict[tuple[str, int], tuple[int, int]] = {}
    for each in map(payment, range(payments)):
        if each.number not in late_times:
            window = each.region, each.time - each.time % WINDOW_MS
            count, cents = on_time.get(window, (0, 0))
            on_time[window] = (count + 1, cents + each.cents)
    problems += [
        f"{total} should have {on_time.get((total.region, total.start))}"
        for total in totals
        if (total.count, total.cents) != on_time.get((total.region, total.start))
    ]
    print(f"{len(totals):,} windows have fired, {len(late):,} payments were late for theirs")
    return problems


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=60, help="how long to run (default: 60)")
    arguments.add_argument("--rate", type=float, default=2_000, help="payments per second (default: 2000)")
    arguments.add_argument("--engine", choices=["spark", "local"], default="spark")
    arguments.add_argument("--resume", metavar="DIR", type=Path, help="go on with the job whose files are in DIR")
    arguments.add_argument("--verify", metavar="DIR", type=Path, help="check the results in DIR and exit")
    options = arguments.parse_args()
    if options.verify is not None:
        problems = verify(options.verify)
        print("\n".join(problems[:20]) if problems else "nothing lost, nothing counted twice, every total is right")
        return 1 if problems else 0
    directory = (options.resume or Path(tempfile.mkdtemp(prefix="penstock-payments-"))).absolute()
    return run(directory, options.engine, options.rate, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
