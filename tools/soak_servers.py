"""The part of a soak with real servers and without a JVM for the job: what strikes at a named step of the protocol.

The driver stops itself at the step; then a server is killed or held, the disk is filled, a file is cut, the clock is
set, another driver takes over; and the driver goes on, or is killed there.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from soak_disk import CutFile, SmallDisk, small_disk
from soak_results import SoakResults

from faults.matrix_job import write_matrix_input
from faults.matrix_oracle import MatrixOracle
from faults.matrix_processes import MatrixProcess, signal_processes, with_children
from faults.matrix_services import MatrixServices
from services.kafka import KafkaBroker
from services.postgres import Postgres

_WHERE = "local engine, Kafka, PostgreSQL"
_STEPS = [
    "action.before", "task.read", "task.gathered", "sink.files.staged", "sink.kafka.staged", "sink.jdbc.staged",
    "task.state.staged", "action.after", "manifest.before", "manifest.after", "publish.before", "publish.task.before",
    "sink.kafka.sent", "sink.kafka.marked", "sink.kafka.committed", "sink.jdbc.claimed", "sink.jdbc.written",
    "sink.jdbc.published", "publish.task.after", "publish.tasks", "sink.files.renamed", "sink.files.marked",
    "publish.sink", "publish.after",
]  # fmt: skip
"""Those of one epoch, in order."""
_STAND_BY = {"execution.standby": "true", "execution.standby.timeout": "2 s"}
_SECONDS = 120
_DAY_MS = 86_400_000


def strike_at_steps(results: SoakResults, rng: random.Random, until: float) -> None:
    """One run of the job after the other, each broken several times; the servers stay."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-soak-servers-")))
        broker, postgres = KafkaBroker(place / "kafka"), Postgres(place / "postgres")
        for server in (broker, postgres):
            stack.callback(server.delete)
            server.start()
        number = 0
        while time.monotonic() < until:
            number += 1
            with small_disk(place / f"disk-{number}") as disk:
                run = _ServerRun(results, rng, disk, broker, postgres)
                try:
                    differences = run.until_end(until)
                finally:
                    run.close()
                results.ended(_WHERE, differences, f"run {number}")
                if differences:
                    kept = Path(tempfile.gettempdir(), f"penstock-soak-failed-{int(time.time())}")
                    shutil.copytree(disk.place, kept, ignore_dangling_symlinks=True)
                    print(f"kept in {kept}", flush=True)


class _ServerRun:
    """One job, from its first start to its end."""

    def __init__(
        self, results: SoakResults, rng: random.Random, disk: SmallDisk, broker: KafkaBroker, postgres: Postgres
    ) -> None:
        self._results = results
        self._rng = rng
        self._disk = disk
        self._broker = broker
        self._postgres = postgres
        self._source = disk.place / "in"
        self._directory = disk.place / "run"
        write_matrix_input(self._source, files=12, records=40, keys=6, seed=rng.randrange(1 << 30))
        self._services = MatrixServices.create(broker, postgres, self._source)
        self._processes: list[MatrixProcess] = []
        self._pauses = 0
        self._wrong: list[str] = []

    def until_end(self, until: float) -> list[str]:
        """Breaks the job again and again, lets it end, and says what is wrong with what it leaves."""
        faults = [
            self._kill_driver,
            self._kill_kafka,
            self._kill_postgres,
            self._hold_server,
            self._set_clock,
            self._cut_file,
            self._take_over,
            self._kill_beside_stand_by,
        ]
        if self._disk.can_be_full:
            faults.append(self._fill_disk)
        ended = False
        while not ended and not self._wrong and time.monotonic() < until:
            ended = self._rng.choice(faults)()
            self.close()
        if not ended and not self._wrong:
            self._goes_on("", self._start())
        if self._wrong:
            return self._wrong
        sums, windows = self._services.read_sums(), self._services.read_windows(self._postgres)
        return MatrixOracle(self._source).differences(self._directory, sums, windows)

    def close(self) -> None:
        """Ends what is left of it; after each fault, for numbers of processes are used again."""
        while self._processes:
            self._processes.pop().end()

    # --- faults; each says whether the job has come to its end

    def _kill_driver(self) -> bool:
        step = self._rng.choice(["takeover.after", *_STEPS])
        process = self._start(f"{step}@{self._rng.randint(1, 3)}=kill")
        code = process.wait(_SECONDS)
        if code == -signal.SIGKILL:
            self._struck(f"SIGKILL to the driver at `{step}`")
            return False
        return self._ended(code, step)

    def _kill_kafka(self) -> bool:
        return self._kill_server(self._broker, "the Kafka broker")

    def _kill_postgres(self) -> bool:
        return self._kill_server(self._postgres, "PostgreSQL")

    def _kill_server(self, server: KafkaBroker | Postgres, name: str) -> bool:
        process, step = self._paused()
        if step is None:
            return self._goes_on("", process)
        server.kill()
        fault = f"SIGKILL to {name} at `{step}`"
        self._struck(fault)
        process.go_on()
        time.sleep(self._rng.uniform(0, 1.5))
        server.start()
        return self._goes_on(fault, process)

    def _hold_server(self) -> bool:
        """Connections stay open and nobody answers: SIGSTOP, and SIGCONT after some seconds."""
        server, name = self._rng.choice([(self._broker, "the Kafka broker"), (self._postgres, "PostgreSQL")])
        process, step = self._paused()
        if step is None:
            return self._goes_on("", process)
        pid = json.loads((server.directory / "server.json").read_text())["pid"]
        held = with_children(pid)
        signal_processes(held, signal.SIGSTOP)
        fault = f"connections to {name} hang for some seconds"
        self._struck(fault)
        process.go_on()
        time.sleep(self._rng.uniform(0.5, 6))
        signal_processes(held, signal.SIGCONT)
        return self._goes_on(f"{fault}, from `{step}`", process)

    def _fill_disk(self) -> bool:
        process, step = self._paused()
        if step is None:
            return self._goes_on("", process)
        self._disk.fill()
        fault = "the disk of the checkpoint, the sinks and the local state is full for a while"
        self._struck(fault)
        process.go_on()
        time.sleep(self._rng.uniform(0.3, 2))
        self._disk.free()
        return self._goes_on(f"{fault}, from `{step}`", process)

    def _set_clock(self) -> bool:
        process, step = self._paused()
        if step is None:
            return self._goes_on("", process)
        days = self._rng.choice([-1, 1])
        written = self._clock.with_suffix(".new")
        written.write_text(str(days * _DAY_MS))
        written.rename(self._clock)
        fault = f"the driver's clock jumps a day {'ahead' if days > 0 else 'back'}"
        self._struck(fault)
        process.go_on()
        return self._goes_on(f"{fault}, at `{step}`", process)

    def _cut_file(self) -> bool:
        """A file that is needed is refused by name, and its copy lets the job go on; others are not missed."""
        process, step = self._paused()
        if step is None:
            return self._goes_on("", process)
        self._kill(process, f"SIGKILL to the driver at `{step}`")
        cut = CutFile.choose(self._directory, self._rng)
        if cut is None:
            return False
        self._struck(f"{cut.kind} loses its end while the driver is away")
        process = self._start()
        said, before, deadline = process.log.stat().st_size, self._newest_manifest(), time.monotonic() + _SECONDS
        while process.is_running and time.monotonic() < deadline:
            if self._newest_manifest() > before or cut.path.name in self._said_since(process, said):
                break
            time.sleep(0.05)
        code = process.wait(0)
        if code not in (None, 0) and cut.path.name not in self._said_since(process, said):
            return self._ended(code, f"{cut.kind} {cut.path.name} lost its end, which is not what the error says")
        cut.restore()
        if code in (None, 0):
            return self._goes_on(f"{cut.kind} {cut.path.name} lost its end", process)
        return False

    def _take_over(self) -> bool:
        """A driver that was only asleep wakes up when another has gone on with the job."""
        asleep, step = self._paused()
        if step is None:
            return self._goes_on("", asleep)
        second = self._start()
        before, deadline = self._newest_manifest(), time.monotonic() + _SECONDS
        while second.is_running and self._newest_manifest() <= before and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(self._rng.uniform(0, 0.5))
        fault = f"a driver sleeps at `{step}` while another takes over"
        self._struck("a driver sleeps while another takes over, and wakes up")
        asleep.go_on()
        ended = self._goes_on(fault, second)
        if asleep.wait(_SECONDS) is None:
            self._wrong.append(f"{fault}: the first does not stop")
        return ended

    def _kill_beside_stand_by(self) -> bool:
        first = self._start()
        before, deadline = self._newest_manifest(), time.monotonic() + _SECONDS
        while first.is_running and self._newest_manifest() <= before and time.monotonic() < deadline:
            time.sleep(0.02)
        second = self._start(options=_STAND_BY)
        time.sleep(self._rng.uniform(0.5, 2))
        if first.is_running:
            self._kill(first, "SIGKILL to the driver while another stands by")
        return self._goes_on("a stand-by driver takes over", second)

    # --- what they have in common

    @property
    def _clock(self) -> Path:
        return self._disk.place / "clock"

    def _start(self, fail_points: str = "", options: dict[str, str] | None = None) -> MatrixProcess:
        all_options = {
            "execution.engine": "local",
            "state.backend": "lmdb",
            "state.local-dir": str(self._directory / "local"),
            "execution.epoch.max-records": "40",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1000",
            "restart-strategy.fixed-delay.delay": "200 ms",
            "execution.standby.timeout": "2 s",
            "logging.level": "warning",
            **(options or {}),
        }
        process = MatrixProcess(
            self._source,
            self._directory,
            all_options,
            fail_points=fail_points,
            services=self._services.to_json(),
            clock=self._clock,
        )
        self._processes.append(process)
        return process

    def _paused(self) -> tuple[MatrixProcess, str | None]:
        """A driver that waits at a step, and which; None where the job has ended before that."""
        self._pauses += 1
        step, mark = self._rng.choice(_STEPS), self._disk.place / f"paused-{self._pauses}"
        process = self._start(f"{step}@{self._rng.randint(1, 3)}=pause:{mark}")
        return process, step if process.is_paused(mark, _SECONDS) else None

    def _goes_on(self, fault: str, process: MatrixProcess) -> bool:
        """Waits for the next manifest, and kills the driver then; or for its end, which has to be a good one."""
        before, deadline = self._newest_manifest(), time.monotonic() + _SECONDS
        while fault and process.is_running and time.monotonic() < deadline:
            if self._newest_manifest() > before:
                self._kill(process, "SIGKILL to the driver at any moment")
                return False
            time.sleep(0.02)
        return self._ended(process.wait(0 if fault else _SECONDS), fault)

    def _ended(self, code: int | None, fault: str) -> bool:
        """Notes what is wrong with the end of a driver."""
        if code == 0:
            return True
        said = (self._disk.place / "run.log").read_text(errors="replace").splitlines()[-12:]
        what = f"does not go on within {_SECONDS} s" if code is None else f"ends with {code}"
        self._wrong.append(f"the job {what} after: {fault or 'no fault'}: {said}")
        return False

    def _kill(self, process: MatrixProcess, fault: str) -> None:
        if process.is_running:
            process.kill()
            if process.wait(_SECONDS) == -signal.SIGKILL:
                self._struck(fault)

    def _struck(self, fault: str) -> None:
        self._results.struck(_WHERE, fault)

    def _newest_manifest(self) -> str:
        names = (path.name for path in (self._directory / "checkpoint" / "manifests").glob("*.json"))
        return max(names, default="")

    def _said_since(self, process: MatrixProcess, said: int) -> str:
        return process.log.read_bytes()[said:].decode(errors="replace")
