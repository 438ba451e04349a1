"""A real Kafka broker on loopback: one KRaft node, its data in a folder of its own."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

CHECKOUT = Path(__file__).resolve().parents[2]
START_SECONDS = 60
STOP_SECONDS = 30
CLUSTER_ID = "penstock-tests-AAAAAAA"
"""A UUID as Kafka writes it: 16 bytes in URL-safe base64 without padding."""


class BrokerError(RuntimeError):
    """The broker cannot be started, or has died."""


def kafka_jars() -> Path:
    """Where `make setup-services` has put the jars."""
    cache = Path(os.environ.get("PENSTOCK_CACHE", CHECKOUT / ".cache")) / "kafka"
    if not (cache / ".complete").exists():
        raise BrokerError(f"the Kafka broker is not in {cache}: run `make setup-services`")
    return cache / "jars"


_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Lets the kernel kill the broker when the test process is killed and cannot."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as open_until_all_are_chosen:
        sockets = [open_until_all_are_chosen.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class KafkaBroker:
    """A broker and its data. `kill` and `restart` keep the address and what was written."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._jars = kafka_jars()
        self._log = directory / "broker.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._port, self._controller_port = _free_ports(2)
        self._format()

    @property
    def bootstrap(self) -> str:
        """The value of `bootstrap.servers`."""
        return f"127.0.0.1:{self._port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the broker and waits until it answers."""
        if self.is_running:
            return
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._java("-Xmx512m", "-Xms128m", "kafka.Kafka", str(self._properties)),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                # Ctrl-C is for pytest, which stops the broker when its tests have ended.
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509  one system call
            )
        self._wait_until_it_answers()

    def stop(self) -> None:
        """Shuts the broker down in order; harmless when it does not run."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """SIGKILL: what a crash of the machine would be, without the loss of its disk."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(STOP_SECONDS)
        self._process = None

    def restart(self) -> None:
        """Stops the broker if it runs, and starts it on the same address and data."""
        self.stop()
        self.start()

    def create_topic(self, name: str | None = None, partitions: int = 1) -> str:
        """Makes a topic and returns its name: the given one, or one that no other test uses."""
        topic = name or f"topic-{uuid.uuid4().hex[:12]}"
        # In a variable: the client must live as long as its futures.
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
        return topic

    def delete(self) -> None:
        """Stops the broker and removes its data."""
        self.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def _properties(self) -> Path:
        return self._directory / "server.properties"

    def _java(self, *arguments: str) -> Sequence[str]:
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home) / "bin" / "java") if home else "java"
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return [java, quiet, "-cp", f"{self._jars}/*", *arguments]

    def _format(self) -> None:
        settings = {
            "process.roles": "broker,controller",
            # A killed broker may come back at once: the controller forgets it after 2 s, not 9.
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "500",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self._port},CONTROLLER://127.0.0.1:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self._directory / "data"),
            "auto.create.topics.enable": "false",
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.num.partitions": "4",
            "offsets.topic.replication.factor": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
        }
        self._directory.mkdir(parents=True, exist_ok=True)
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        done = subprocess.run(
            self._java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self._properties)),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BrokerError(f"the broker's storage could not be formatted:\n{done.stdout}{done.stderr}")

    def _wait_until_it_answers(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        # log_level 0: refused connections are what this waits through.
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise BrokerError(f"the broker ended with {self._process.returncode}:\n{self._log_tail()}")
            try:
                if admin.list_topics(timeout=1).brokers:
                    return
            except KafkaException:
                continue
        self.kill()
        raise BrokerError(f"the broker did not answer within {START_SECONDS} s:\n{self._log_tail()}")

    def _log_tail(self) -> str:
        with self._log.open("rb") as log:
            return _last_bytes(log, 4000).decode(errors="replace")


def _last_bytes(file: IO[bytes], count: int) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - count))
    return file.read()
