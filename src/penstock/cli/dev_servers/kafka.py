"""A Kafka broker: one KRaft node."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from penstock.cli.dev_servers.downloads import kafka_jars
from penstock.cli.dev_servers.server import Server, ServerError

_CLUSTER_ID = "penstock-local-AAAAAAA"
"""A UUID as Kafka writes it: 16 bytes in URL-safe base64 without padding."""


class KafkaServer(Server):
    """A broker without security, for this machine alone."""

    name = "Kafka"

    def __init__(self, directory: Path, *, fetch: bool = True) -> None:
        super().__init__(directory, ports=2)
        self._fetch = fetch

    @property
    def address(self) -> str:
        """The value of `bootstrap.servers`."""
        return f"127.0.0.1:{self.ports[0]}"

    def settings(self) -> dict[str, str]:
        """The broker's properties."""
        port, controller = self.ports[:2]
        return {
            "process.roles": "broker,controller",
            # A killed broker may come back at once: the controller forgets it after 2 s, not 9.
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "500",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.directory / "data"),
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

    def command(self) -> Sequence[str]:
        """Java with the broker's jars."""
        return self._java("-Xmx512m", "-Xms128m", "kafka.Kafka", str(self._properties))

    def prepare(self) -> None:
        """Formats the storage before the first start."""
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in self.settings().items()))
        if (self.directory / "data" / "meta.properties").exists():
            return
        done = subprocess.run(  # noqa: S603  a program of the user's own path
            self._java("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._properties)),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ServerError(f"Kafka's storage could not be formatted:\n{done.stdout}{done.stderr}")

    @property
    def _properties(self) -> Path:
        return self.directory / "server.properties"

    def _java(self, *arguments: str) -> Sequence[str]:
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home) / "bin" / "java") if home else "java"
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return [java, quiet, "-cp", f"{kafka_jars(fetch=self._fetch)}/*", *arguments]
