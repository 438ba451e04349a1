"""The part of a soak that runs on Spark: SIGKILL to whatever takes part in a job, at random and again and again."""

from __future__ import annotations

import json
import random
import shutil
import signal
import tempfile
import time
from contextlib import ExitStack
from enum import Enum
from pathlib import Path

from soak_feed import Feed
from soak_results import SoakResults

from faults.matrix_job import write_matrix_input
from faults.matrix_oracle import MatrixOracle
from faults.matrix_processes import MatrixProcess, kill_process, signal_processes, with_children
from faults.matrix_services import MatrixServices
from services.kafka import KafkaBroker
from services.postgres import Postgres

_EPOCH_SECONDS = 45
_OPTIONS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "200 ms",
    "execution.checkpointing.tolerable-failed-checkpoints": "20",
    # A worker that does not come back is killed, with its epoch.
    "execution.checkpointing.timeout": f"{_EPOCH_SECONDS} s",
    "execution.epoch.max-records": "60",
    "logging.level": "warning",
}
_PIPELINED_OPTIONS = {"execution.latency": "pipelined", "execution.checkpointing.interval": "1 s"}
_BETWEEN_FAULTS = (0.2, 1.2)
_EVEN_SO = 0.05
"""How often a job in pipelined mode is struck again before it has come further: every fault ends the epoch of all its
tasks, which takes seconds to begin again."""
_END_SECONDS = 240
_IN_DRIVER = ["manifest.before", "manifest.after", "publish.before", "publish.tasks", "publish.sink", "publish.after"]
_IN_WORKERS = [
    "task.read",
    "task.gathered",
    "task.state.staged",
    "sink.files.staged",
    "publish.task.before",
    "publish.task.after",
]
_IN_PIPELINED_WORKERS = [
    "program.record",
    "program.timer",
    "sink.files.staged",
    "task.state.staged",
    "task.done",
    "publish.task.before",
    "publish.task.after",
]
_OF_LEDGERS = ["ledger.staged", "ledger.inserted", "ledger.committed"]
_OF_SERVICES = [
    "sink.kafka.staged",
    "sink.kafka.sent",
    "sink.kafka.marked",
    "sink.kafka.committed",
    "sink.jdbc.written",
]
_NAMES = {"worker": "a Python worker", "jvm": "the driver's JVM", "executor": "an executor"}


class Target(Enum):
    """Where the job runs, and what can be killed there."""

    LOCAL = "Spark, local"
    CLUSTER = "Spark, two executors"
    SERVICES = "Spark, Kafka, PostgreSQL"
    PIPELINED = "Spark, pipelined, two executors, Kafka, PostgreSQL"

    @property
    def has_executors(self) -> bool:
        """Whether they are processes of their own."""
        return self in (Target.CLUSTER, Target.PIPELINED)

    @property
    def has_servers(self) -> bool:
        """Whether payments come from a broker, and results go to it and to a database."""
        return self in (Target.SERVICES, Target.PIPELINED)

    @property
    def options(self) -> dict[str, str]:
        """How the job runs there."""
        if self is Target.PIPELINED:
            # All tasks have a slot at the same time, and those that publish, too, on the executor that is left.
            return {**_OPTIONS, **_PIPELINED_OPTIONS, "spark.master": "local-cluster[2,12,1024]"}
        return {**_OPTIONS, "spark.master": "local-cluster[2,1,1024]" if self.has_executors else "local[2]"}


def kill_on_spark(results: SoakResults, rng: random.Random, target: Target, seconds: float) -> None:
    """Runs the job once, to its end; breaks things for so long, from when it first works."""
    results.spark_runs += 1
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-soak-")))
        source, directory = place / "in", place / "run"
        # More than it gets through while it is broken: a run that has ended cannot be killed.
        write_matrix_input(source, files=50, records=40, keys=8, seed=rng.randrange(1 << 30))
        broker = postgres = services = feed = None
        if target.has_servers:
            broker, postgres = KafkaBroker(place / "kafka"), Postgres(place / "postgres")
            for server in (broker, postgres):
                stack.callback(server.delete)
                server.start()
            # In pipelined mode all that is there is read in one epoch.
            follows = target is Target.PIPELINED
            services = MatrixServices.create(broker, postgres, source, send=not follows)
            feed = Feed(services, source, seconds) if follows else None
        run = _Run(results, rng, target, source, directory, services, broker, postgres, feed)
        try:
            code = run.until_end(seconds)
        finally:
            run.process.end()
        log = (place / "run.log").read_text(errors="replace").splitlines()
        ordered = None if services is None else services.read_sums()
        windows = None if services is None or postgres is None else services.read_windows(postgres)
        differences = MatrixOracle(source).differences(directory, ordered, windows)
        if code != 0:
            differences = [f"ended with {code}: {log[-3:]}", *differences]
        results.ended(target.value, differences, f"run {results.spark_runs}")
        if differences:
            kept = Path(tempfile.gettempdir(), f"penstock-soak-failed-{int(time.time())}")
            shutil.copytree(place, kept, ignore_dangling_symlinks=True)
            print(f"kept in {kept}", flush=True)


class _Run:
    """One job, started again whenever its driver is killed."""

    def __init__(
        self,
        results: SoakResults,
        rng: random.Random,
        target: Target,
        source: Path,
        directory: Path,
        services: MatrixServices | None,
        broker: KafkaBroker | None,
        postgres: Postgres | None,
        feed: Feed | None,
    ) -> None:
        self._results = results
        self._feed = feed
        self._rng = rng
        self._target = target
        self._source = source
        self._directory = directory
        self._services = services
        self._servers = {"the Kafka broker": broker, "PostgreSQL": postgres}
        self._struck: set[str] = set()
        self._starts = 0
        self._seen = ""
        self._marks: dict[Path, str] = {}
        """What is there when a worker was killed at a step, and the step."""
        self.process = self._start(with_steps=True)

    def until_end(self, seconds: float) -> int | None:
        """Breaks things until the time is over or the job has ended; then lets the job end."""
        begun: float | None = None
        while begun is None or time.monotonic() < begun + seconds:
            code = self.process.wait(self._rng.uniform(*_BETWEEN_FAULTS))
            self._count_marks()
            if code == -signal.SIGKILL:
                # It has killed itself at a step.
                self._count(f"the driver at `{self._step}`")
                self.process.end()
                self.process = self._start(with_steps=True)
            elif code is not None:
                return code
            # What dies while the program starts is told at once, and is for whoever started it.
            elif self._newest_manifest() > self._before and self.process.members("worker"):
                begun = begun or time.monotonic()
                if self._feed is None or self._has_come_further() or self._rng.random() < _EVEN_SO:
                    self._break_something()
        if self._feed is not None:
            self._feed.finish()
        code = self.process.wait(_END_SECONDS)
        self._count_marks()
        if code == -signal.SIGKILL:
            self._count(f"the driver at `{self._step}`")
            self.process.end()
            self.process = self._start(with_steps=False)
            code = self.process.wait(_END_SECONDS)
        return code

    def _break_something(self) -> None:
        # Workers are back at once; a driver, a JVM or a server takes seconds, in which nothing else can be killed.
        kinds = ["worker"] * 24 + ["driver", "jvm", "hang"] + ["executor"] * (4 * self._target.has_executors)
        if self._services is not None:
            kinds += [*self._servers, *(f"{name} hangs" for name in self._servers)] * 2
        # What takes long comes seldom, but each at least once where there is time.
        unseen = sorted(set(kinds) - self._struck)
        kind = self._rng.choice(unseen if unseen and self._rng.random() < 0.3 else kinds)
        self._struck.add(kind)
        server = self._servers.get(kind.removesuffix(" hangs"))
        if kind == "driver":
            self.process.kill()
            self.process.end()
            self._count("the driver")
            self.process = self._start(with_steps=True)
        elif kind == "hang":
            self._hold(self.process.members("worker")[:1], "a Python worker hangs for some seconds")
        elif server is not None and kind.endswith("hangs"):
            pid = json.loads((server.directory / "server.json").read_text())["pid"]
            self._hold(with_children(pid), f"connections to {kind.removesuffix(' hangs')} hang for some seconds")
        elif server is not None:
            server.kill()
            self._count(kind)
            time.sleep(self._rng.uniform(0, 1))
            server.start()
        else:
            members = self.process.members(kind)
            if members and kill_process(self._rng.choice(members)):
                self._count(_NAMES[kind])

    def _hold(self, processes: list[int], fault: str) -> None:
        """SIGSTOP, and SIGCONT after some seconds; a worker sometimes only when its epoch has been given up."""
        if signal_processes(processes, signal.SIGSTOP):
            self._results.struck(self._target.value, fault)
            longest = _EPOCH_SECONDS + 4 if "worker" in fault and self._rng.random() < 0.2 else 5
            self.process.wait(self._rng.uniform(0.5, longest))
            signal_processes(processes, signal.SIGCONT)

    def _count(self, what: str) -> None:
        self._results.struck(self._target.value, f"SIGKILL to {what}")

    def _count_marks(self) -> None:
        for mark in [mark for mark in self._marks if mark.exists()]:
            self._count(f"a Python worker at `{self._marks.pop(mark)}`")

    def _has_come_further(self) -> bool:
        """Whether an epoch has ended since that was asked."""
        before, self._seen = self._seen, self._newest_manifest()
        return self._seen > before

    def _newest_manifest(self) -> str:
        names = (path.name for path in (self._directory / "checkpoint" / "manifests").glob("*.json"))
        return max(names, default="")

    def _start(self, *, with_steps: bool) -> MatrixProcess:
        self._before = self._newest_manifest()
        self._starts += 1
        options = {**self._target.options, "state.local-dir": str(self._directory.parent / "local")}
        steps = self._steps() if with_steps else ""
        if self._target.has_executors:
            options["spark.executorEnv.PENSTOCK_FAIL_POINTS"] = steps
        services = None if self._services is None else self._services.to_json()
        return MatrixProcess(self._source, self._directory, options, fail_points=steps, services=services)

    def _steps(self) -> str:
        """Steps at which processes of the next start kill themselves: some workers, and at times the driver."""
        self._step = self._rng.choice(_IN_DRIVER)
        points = [f"{self._step}@{self._rng.randint(6, 14)}=kill"] * (self._rng.random() < 0.5)
        for number in range(4):
            in_workers = _IN_WORKERS if self._feed is None else _IN_PIPELINED_WORKERS
            step = self._rng.choice(in_workers + (_OF_LEDGERS if self._services is None else _OF_SERVICES))
            mark = self._directory.parent / f"killed-{self._starts}-{number}"
            self._marks[mark] = step
            points.append(f"{step}@{self._rng.randint(1, 4)}=once:{mark}")
        return ";".join(points)
