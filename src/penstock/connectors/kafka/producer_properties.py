"""The properties of a sink: those of Kafka's Java producer, as the C client and the sink understand them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.common.errors import ConfigurationError, UnsupportedError
from penstock.connectors.kafka.properties import RENAMED, client_settings, number, with_variables

_MAX_MESSAGE = "message.max.bytes"
_RENAMED = {**RENAMED, "max.request.size": _MAX_MESSAGE, "delivery.timeout.ms": "message.timeout.ms"}
# Settings of the Java client's own machinery: the sink does these things itself.
_WITHOUT_MEANING = frozenset(
    {
        "buffer.memory",
        "delivery.report.only.error",
        "key.serializer",
        "max.block.ms",
        "metadata.max.idle.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "value.serializer",
    }
)
_REFUSED = {
    "partitioner.class": "Java classes cannot run here: use set_partitioner of the record serializer",
    "transactional.id": "every subtask has an id of its own: use set_transactional_id_prefix",
}
_COMMIT_IN_TASK = "penstock.commit.in.task"
_WRITE_TIMEOUT = "penstock.write.timeout.ms"
_TRANSACTION_TIMEOUT = "transaction.timeout.ms"
_OF_CONNECTIONS = (
    "api.",
    "broker.",
    "client.",
    "connections.",
    "debug",
    "enable.ssl.",
    "log",
    "reconnect.",
    "sasl.",
    "security.",
    "socket.",
    "ssl.",
)
"""How the names of settings begin that clients of every kind have."""

DEFAULT_WRITE_TIMEOUT_MS = 120_000
DEFAULT_TRANSACTION_TIMEOUT_MS = 300_000
DEFAULT_MAX_MESSAGE_BYTES = 1_000_000
"""That of the client."""
_MAX_QUEUED_MESSAGES = 200_000
_MAX_QUEUED_KBYTES = 128 << 10


@dataclass(frozen=True)
class KafkaProducerProperties:
    """What the user set, understood."""

    bootstrap_servers: str
    client: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Settings for the C client; passwords are among them, so nothing prints them."""
    write_timeout_ms: int = DEFAULT_WRITE_TIMEOUT_MS
    """How long brokers that do not answer are waited for."""
    transaction_timeout_ms: int = DEFAULT_TRANSACTION_TIMEOUT_MS
    """After this time the brokers give up a transaction that nobody ends."""

    @property
    def write_timeout_seconds(self) -> float:
        """How long brokers that do not answer are waited for."""
        return self.write_timeout_ms / 1000

    @property
    def max_message_bytes(self) -> int:
        """The size from which on the client takes no message."""
        known = {name: value for name, value in self.client.items() if name == _MAX_MESSAGE}
        return number(with_variables(known), _MAX_MESSAGE, DEFAULT_MAX_MESSAGE_BYTES)

    def producer_configuration(self, transactional_id: str | None) -> dict[str, str | int | bool]:
        """The configuration of a producer; None: without transactions."""
        timeout = self.write_timeout_ms
        transactions: dict[str, str | int | bool] = {}
        if transactional_id is not None:
            # Half of it: then there is time for another attempt, with a new producer.
            timeout = min(timeout // 2, self.transaction_timeout_ms)
            transactions = {
                "transactional.id": transactional_id,
                _TRANSACTION_TIMEOUT: self.transaction_timeout_ms,
                "enable.idempotence": True,
            }
        return {
            # As Kafka's Java client has them: records are neither lost nor repeated by a broker's hiccup, and a key
            # leads to the same partition whoever sends it.
            "enable.idempotence": True,
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": _MAX_QUEUED_MESSAGES,
            "queue.buffering.max.kbytes": _MAX_QUEUED_KBYTES,
            "reconnect.backoff.ms": 100,
            "reconnect.backoff.max.ms": 1000,
            # A transaction begins while the brokers still finish the last one; they ask to try again.
            "retry.backoff.ms": 10,
            "message.timeout.ms": timeout,
            **with_variables(self.client),
            **transactions,
            "bootstrap.servers": self.bootstrap_servers,
            "delivery.report.only.error": True,
        }

    def group_configuration(self, group: str) -> dict[str, str | int | bool]:
        """The configuration of a consumer that stands for a group and reads nothing."""
        return {
            **self.admin_configuration(),
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }

    def admin_configuration(self) -> dict[str, str | int | bool]:
        """The configuration of an admin client."""
        client = {name: value for name, value in self.client.items() if name.startswith(_OF_CONNECTIONS)}
        return {"reconnect.backoff.ms": 100, **with_variables(client), "bootstrap.servers": self.bootstrap_servers}


def understood_by_producers(properties: Mapping[str, str]) -> KafkaProducerProperties:
    """Translates properties; raises `ConfigurationError` for those that cannot be honoured."""
    if str(properties.get(_COMMIT_IN_TASK, "false")).lower() == "true":
        raise UnsupportedError(
            f"{_COMMIT_IN_TASK}: transactions that tasks commit by themselves, before the manifest, are not supported, "
            "also not for deterministic programs: an epoch that has failed is planned anew, with the input that is "
            "there by then, and what a task had committed would be taken for all of it. Exactly once publishes after "
            "the manifest; at least once does not wait for it"
        )
    left_out = _WITHOUT_MEANING | {_WRITE_TIMEOUT, _TRANSACTION_TIMEOUT, _COMMIT_IN_TASK, "client.id.prefix"}
    client = client_settings(properties, renamed=_RENAMED, refused=_REFUSED, left_out=left_out)
    if "client.id.prefix" in properties:
        client["client.id"] = properties["client.id.prefix"]
    write_timeout = number(properties, _WRITE_TIMEOUT, DEFAULT_WRITE_TIMEOUT_MS)
    if write_timeout <= 0:
        raise ConfigurationError(f"the Kafka property {_WRITE_TIMEOUT} is a time above 0, got {write_timeout}")
    return KafkaProducerProperties(
        bootstrap_servers=properties["bootstrap.servers"],
        client=client,
        write_timeout_ms=write_timeout,
        transaction_timeout_ms=number(properties, _TRANSACTION_TIMEOUT, DEFAULT_TRANSACTION_TIMEOUT_MS),
    )
