"""The Kafka broker that tests run against."""

from __future__ import annotations

import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

import services.downloaded  # noqa: F401  says where the jars are
from penstock.cli.dev_servers import KafkaServer


class KafkaBroker(KafkaServer):
    """A broker and its data. `kill` and `restart` keep the address and what was written."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, fetch=False)

    @property
    def bootstrap(self) -> str:
        """The value of `bootstrap.servers`."""
        return self.address

    def settings(self) -> dict[str, str]:
        """Records of jobs have the times of their events: by those, brokers would soon think them too old to keep."""
        return super().settings() | {"log.retention.ms": "-1"}

    def answers(self) -> bool:
        """A port that is open is not enough: the broker must know itself."""
        try:
            return bool(self._admin().list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    def create_topic(self, name: str | None = None, partitions: int = 1) -> str:
        """Makes a topic and returns its name: the given one, or one that no other test uses."""
        topic = name or f"topic-{uuid.uuid4().hex[:12]}"
        # In a variable: the client must live as long as its futures.
        admin = self._admin()
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
        return topic

    def _admin(self) -> AdminClient:
        # log_level 0: refused connections are what starting waits through.
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
