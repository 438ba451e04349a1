"""The part of a soak that runs on Spark: SIGKILL to whatever takes part in a job, at random and again and again."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from contextlib import ExitStack
from enum import Enum
from pathlib import Path

from soak_results import SoakResults

from faults.matrix_job import write_matrix_input
from faults.matrix_oracle import MatrixOracle
from faults.matrix_processes import MatrixProcess, kill_process
from faults.matrix_services import MatrixServices
from services.kafka import KafkaBroker
from services.postgres import Postgres

_RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "200 ms",
    "execution.checkpointing.tolerable-failed-checkpoints": "20",
    "logging.level": "warning",
}
_BETWEEN_KILLS = (0.3, 2.0)
_END_SECONDS = 240


class Target(Enum):
    """Where the job runs, and what can be killed there."""

    LOCAL = "Spark, local"
    CLUSTER = "Spark, two executors"
    SERVICES = "Spark, Kafka, PostgreSQL"


def kill_on_spark(results: SoakResults, rng: random.Random, target: Target, seconds: float) -> None:
    """Runs the job once, to its end; kills processes for so long, from when it first works."""
    results.spark_runs += 1
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-soak-")))
        source, directory = place / "in", place / "run"
        write_matrix_input(source, files=40, records=40, keys=8, seed=rng.randrange(1 << 30))
        broker = postgres = services = None
        if target is Target.SERVICES:
            broker, postgres = KafkaBroker(place / "kafka"), Postgres(place / "postgres")
            for server in (broker, postgres):
                server.start()
                stack.callback(server.delete)
            services = MatrixServices.create(broker, postgres, source)
        run = _Run(results, rng, target, source, directory, services, broker, postgres)
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
    ) -> None:
        self._results = results
        self._rng = rng
        self._target = target
        self._source = source
        self._directory = directory
        self._services = services
        self._servers = {"the Kafka broker": broker, "PostgreSQL": postgres}
        self._struck: set[str] = set()
        self.process = self._start()

    def until_end(self, seconds: float) -> int | None:
        """Kills until the time is over or the job has ended; then lets the job end."""
        begun: float | None = None
        while begun is None or time.monotonic() < begun + seconds:
            code = self.process.wait(self._rng.uniform(*_BETWEEN_KILLS))
            if code is not None:
                return code
            # What dies while the program starts is told at once, and is for whoever started it.
            if self._newest_manifest() > self._before and self.process.members("worker"):
                begun = begun or time.monotonic()
                self._kill_something()
        return self.process.wait(_END_SECONDS)

    def _kill_something(self) -> None:
        # Workers are back at once; a driver, a JVM or a server takes seconds, in which nothing else can be killed.
        kinds = ["worker"] * 20 + ["driver", "jvm"] + ["executor"] * (4 * (self._target is Target.CLUSTER))
        if self._services is not None:
            kinds += ["the Kafka broker", "PostgreSQL"] * 2
        # What takes long comes seldom, but each at least once where there is time.
        unseen = sorted(set(kinds) - self._struck)
        kind = self._rng.choice(unseen if unseen and self._rng.random() < 0.3 else kinds)
        self._struck.add(kind)
        if kind == "driver":
            self.process.kill()
            self.process.end()
            self._count("the driver")
            self.process = self._start()
        elif kind in self._servers:
            server = self._servers[kind]
            assert server is not None
            server.kill()
            self._count(kind)
            time.sleep(self._rng.uniform(0, 1))
            server.restart()
        else:
            members = self.process.members(kind)
            if members and kill_process(self._rng.choice(members)):
                self._count({"worker": "a Python worker", "jvm": "the driver's JVM", "executor": "an executor"}[kind])

    def _count(self, what: str) -> None:
        self._results.struck(self._target.value, f"SIGKILL to {what}")

    def _newest_manifest(self) -> str:
        names = (path.name for path in (self._directory / "checkpoint" / "manifests").glob("*.json"))
        return max(names, default="")

    def _start(self) -> MatrixProcess:
        self._before = self._newest_manifest()
        options = {
            **_RESTARTS,
            "spark.master": "local-cluster[2,1,1024]" if self._target is Target.CLUSTER else "local[2]",
            "execution.epoch.max-records": "60",
            "state.local-dir": str(self._directory.parent / "local"),
        }
        services = None if self._services is None else self._services.to_json()
        return MatrixProcess(self._source, self._directory, options, services=services)
