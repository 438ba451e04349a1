"""A standalone Spark cluster on loopback: a master and workers as processes, each worker a machine of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyspark

from penstock.engine.spark.class_archive import java_options

SPARK_HOME = Path(pyspark.__file__).parent
_SECONDS = 120


class StandaloneCluster:
    """Machines are 127.0.0.2 and so on: Spark tells them apart, and so do their local directories."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        directory.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        options = ["--host", "127.0.0.1", "--port", str(self._port), "--webui-port", "0"]
        self._start("127.0.0.1", "org.apache.spark.deploy.master.Master", *options)
        self._wait_for_port()

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def add_worker(self, host: str, cores: int = 1) -> None:
        """Starts a worker; executors of running applications come by themselves."""
        options = ["--host", host, "--cores", str(cores), "--memory", "1g", "--webui-port", "0"]
        work = str(self.directory / f"work-{host}")
        self._start(host, "org.apache.spark.deploy.worker.Worker", *options, "--work-dir", work, self.master)

    def executors(self, host: str) -> list[int]:
        """The processes of the executors of a worker."""
        found: list[int] = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    is_executor = "--hostname" in words and words[words.index("--hostname") + 1] == host
                    if is_executor and (entry / "cwd").readlink().is_relative_to(self.directory):
                        found.append(int(entry.name))
        return found

    def kill_executor(self, host: str) -> int:
        """SIGKILL to the executor of a worker, which starts another; the process that was killed."""
        (process,) = self.executors(host)
        os.kill(process, signal.SIGKILL)
        return process

    def wait_for_executor(self, host: str, *, other_than: int) -> None:
        """Waits until a worker has an executor, and not the one that it had."""
        deadline = time.monotonic() + _SECONDS
        while not set(self.executors(host)) - {other_than}:
            assert time.monotonic() < deadline, f"{host} gets no executor"
            time.sleep(0.1)

    def stop(self) -> None:
        """Ends everything that was started."""
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for host, process in self._processes.items():
            process.wait(_SECONDS)
            for executor in self.executors(host):
                with suppress(ProcessLookupError):
                    os.kill(executor, signal.SIGKILL)

    def _start(self, host: str, class_name: str, *options: str) -> None:
        # What tells one machine's disk from another's.
        local = self.directory / f"disk-{host}"
        environment = {
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": host,
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_JAVA_OPTS": java_options(),
            "SPARK_LOCAL_DIRS": str(local / "spark"),
            "MACHINE_DISK": str(local),
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self.directory / f"{class_name.rpartition('.')[2]}-{host}.log").open("wb") as log:
            self._processes[host] = subprocess.Popen(
                [str(SPARK_HOME / "bin" / "spark-class"), class_name, *options],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_for_port(self) -> None:
        deadline = time.monotonic() + _SECONDS
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
                return
            assert time.monotonic() < deadline, "the master does not answer"
            time.sleep(0.1)
