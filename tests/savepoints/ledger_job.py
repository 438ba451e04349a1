"""A job with state of every kind, which savepoints are made of and restored to."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Duration, Types, WatermarkStrategy, fail_points
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.files import FileSink
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    FlatMapFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.engine.epochs.savepoints import write_savepoint
from penstock.execution.job_client import JobClient
from penstock.state.storage import open_storage

RECORDS = [(f"user-{number % 13}", number, number * 100) for number in range(600)]
RULES = [(f"rule-{number}", number) for number in range(5)]
RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
AT_THE_END = 1_000_000_000
RULE_STATE = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


@dataclass
class Account:
    count: int
    total: float
    last: str | None = None


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[2]


class Ledger(KeyedProcessFunction):
    """Keeps an account, a map and a list by key, sets timers, and tells at the end of time what it has."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.account = runtime_context.get_state(ValueStateDescriptor("account", Account))
        self.by_digit = runtime_context.get_map_state(MapStateDescriptor("by digit", Types.INT(), Types.LONG()))
        self.recent = runtime_context.get_list_state(ListStateDescriptor("recent", Types.LONG()))
        self.objects = runtime_context.get_state(ValueStateDescriptor("objects"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        account = self.account.value() or Account(0, 0.0)
        account = Account(account.count + 1, account.total + value[1], value[0])
        self.account.update(account)
        self.by_digit.put(value[1] % 10, (self.by_digit.get(value[1] % 10) or 0) + 1)
        self.recent.add(value[1])
        self.objects.update({"seen": account.count})
        if value[1] % 10 == 0:
            ctx.timer_service().register_event_time_timer(value[2] + 5_000)
        ctx.timer_service().register_event_time_timer(AT_THE_END)
        yield f"account {value[0]} {value[1]}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        account = self.account.value()
        digits = sorted(self.by_digit.items())
        assert sum(count for _, count in digits) == len(list(self.recent.get())) == account.count
        assert self.objects.value() == {"seen": account.count}
        yield f"timer {ctx.get_current_key()} {timestamp}"
        if timestamp == AT_THE_END:
            yield f"account of {ctx.get_current_key()}: {account.count} {account.total} {account.last} {digits}"


class WithRules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[str]:
        # All rules are there before the job is stopped for the first time: they come before the records of an epoch.
        yield f"rules {value[1]} {sum(each for _, each in ctx.get_broadcast_state(RULE_STATE).items())}"

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterable[str]:
        ctx.get_broadcast_state(RULE_STATE).put(value[0], value[1])
        return ()


class Hoard(FlatMapFunction, CheckpointedFunction):
    """Keeps elements back until it has some; counts in a union list what all subtasks have seen."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.saved = store.get_list_state(ListStateDescriptor("held", Types.LONG()))
        self.held = list(self.saved.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update(self.held)

    def flat_map(self, value: Any) -> Iterator[str]:
        self.held.append(value[1])
        if len(self.held) >= 7:
            yield from (f"held {each}" for each in self.held)
            self.held = []


def environment(directory: Path, engine: str = "local", **options: Any) -> StreamExecutionEnvironment:
    configuration = Configuration()
    settings = {
        "execution.engine": engine,
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(directory / "checkpoint"),
        "execution.checkpointing.savepoint-dir": str(directory / "savepoints"),
        "execution.epoch.max-records": "40",
        "pipeline.max-parallelism": "12",
    }
    for key, value in (settings | options).items():
        configuration.set_string(key, str(value))
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def build(
    env: StreamExecutionEnvironment,
    out: Path,
    parallelism: int,
    *,
    ledger: KeyedProcessFunction | None = None,
    chained: bool = True,
    without: str = "",
) -> None:
    env.set_parallelism(parallelism)
    if not chained:
        env.disable_operator_chaining()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(Stamps())
    records = env.from_collection(RECORDS, RECORD).uid("records")
    timed = records.assign_timestamps_and_watermarks(strategy).uid("times")
    rules = env.from_collection(RULES, Types.TUPLE([Types.STRING(), Types.LONG()])).uid("rules")
    lines: dict[str, DataStream] = {
        "ledger": timed.key_by(lambda r: r[0], Types.STRING())
        .process(ledger or Ledger(), Types.STRING())
        .uid("ledger")
        .name("the ledger"),
        "windows": timed.key_by(lambda r: r[0], Types.STRING())
        .window(TumblingEventTimeWindows.of("7 s"))
        .reduce(lambda a, b: (a[0], a[1] + b[1], max(a[2], b[2])))
        .uid("windows")
        .map(lambda r: f"window {r}", Types.STRING())
        .uid("shown"),
        "rules": timed.connect(rules.broadcast(RULE_STATE)).process(WithRules(), Types.STRING()).uid("with rules"),
        "hoard": timed.rebalance().flat_map(Hoard(), Types.STRING()).uid("hoard"),
    }
    for name, stream in lines.items():
        if name != without:
            stream.sink_to(FileSink(str(out / name), "text")).uid(f"sink of {name}")


def published(out: Path) -> Counter[str]:
    return Counter(line for path in out.rglob("*.txt") for line in path.read_text().splitlines())


class AtEpoch:
    """Calls something in the driver loop when an epoch has been committed: the next one is not planned yet."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._ready = threading.Event()
        self._call: Any = None
        self.result: Any = None

    def __call__(self, name: str) -> None:
        if name == "manifest.after":
            self._left -= 1
            if self._left == 0:
                self._ready.wait(60)
                self.result = self._call()

    def run_blocking(self, start: Any, call: Any) -> Any:
        """The same where nothing is returned before the job has ended: there is no client to call with."""
        self._call = lambda: call(None)
        self._ready.set()
        fail_points.arm(self)
        try:
            return start()
        finally:
            fail_points.arm(None)

    def run(self, start: Any, call: Any) -> JobClient:
        fail_points.arm(self)
        try:
            client = start()
            self._call = lambda: call(client)
            self._ready.set()
            client.wait()
        finally:
            fail_points.arm(None)
        return client


def stopped_with_savepoint(env: StreamExecutionEnvironment, epoch: int = 5, *, drain: bool = False) -> str:
    """Runs the job that is built, and stops it after some epochs; the path of the savepoint."""
    hook = AtEpoch(epoch)
    hook.run(lambda: env.execute_async("ledger"), lambda client: client.stop_with_savepoint(drain))
    return hook.result.result()


def write_savepoint_of(checkpoint: Path, target: Path) -> None:
    """A savepoint of a job that has ended."""
    storage = open_storage(str(checkpoint))
    newest = ManifestLog(storage, "").read_newest()
    assert newest is not None
    write_savepoint(storage, newest.manifest, open_storage(str(target)))
