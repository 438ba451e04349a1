"""Kafka's properties, by the names of its Java client, as the C client and this source understand them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from penstock.common.errors import ConfigurationError

RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
# Settings of the Java client's own machinery: the source does these things itself.
_WITHOUT_MEANING = frozenset(
    {
        "auto.commit.interval.ms",
        "default.api.timeout.ms",
        "enable.auto.commit",
        "enable.partition.eof",
        "key.deserializer",
        "max.poll.records",
        "register.consumer.metrics",
        "request.timeout.ms",
        "value.deserializer",
    }
)
_REFUSED = {
    "interceptor.classes": "Java classes cannot run here",
    "metric.reporters": "Java classes cannot run here",
    "ssl.truststore.location": "Java key stores cannot be read here: export the certificates as PEM and set "
    "ssl.ca.location",
    "ssl.truststore.password": "Java key stores cannot be read here: export the certificates as PEM and set "
    "ssl.ca.location",
    "ssl.keystore.type": "set ssl.keystore.location to a PKCS#12 file, or ssl.certificate.location and "
    "ssl.key.location to PEM files",
}
_OWN = frozenset(
    {
        "auto.offset.reset",
        "client.id.prefix",
        "commit.offsets.on.checkpoint",
        "group.id",
        "isolation.level",
        "partition.discovery.interval.ms",
        "penstock.read.timeout.ms",
    }
)
_CONSUMER_ONLY = frozenset(
    {
        "check.crcs",
        "fetch.error.backoff.ms",
        "fetch.max.bytes",
        "fetch.message.max.bytes",
        "fetch.min.bytes",
        "fetch.queue.backoff.ms",
        "fetch.wait.max.ms",
        "group.instance.id",
        "heartbeat.interval.ms",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "partition.assignment.strategy",
        "queued.max.messages.kbytes",
        "queued.min.messages",
        "session.timeout.ms",
    }
)
_LOGIN = re.compile(r"""(?P<name>username|password)\s*=\s*(?P<quote>["'])(?P<value>.*?)(?P=quote)""")
_VARIABLE = re.compile(r"\$\{env:(\w+)\}")
"""As Kafka's own provider of configuration from the environment has it."""

DEFAULT_DISCOVERY_INTERVAL_MS = 5 * 60 * 1000
DEFAULT_READ_TIMEOUT_MS = 60_000


@dataclass(frozen=True)
class KafkaProperties:
    """What the user set, understood."""

    bootstrap_servers: str
    client: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Settings for the C client; passwords are among them, so nothing prints them."""
    group_id: str | None = None
    isolation_level: str = "read_committed"
    reset_when_deleted: str = "error"
    """Where to go on when the next offset is no longer there: error, earliest or latest."""
    discovery_interval_ms: int = DEFAULT_DISCOVERY_INTERVAL_MS
    """Time between two looks for new partitions; 0 or less: never."""
    commits_offsets: bool = True
    read_timeout_ms: int = DEFAULT_READ_TIMEOUT_MS

    def consumer_configuration(self) -> dict[str, str | int | bool]:
        """The configuration of a consumer that is told what to read, offset by offset."""
        return {
            # Small epochs must not wait for more data, and a full queue must not stop fetching for a second.
            "fetch.wait.max.ms": 20,
            "fetch.queue.backoff.ms": 10,
            # While no broker answers, the client tries (and logs that it did) twice in this time.
            "reconnect.backoff.ms": 500,
            "allow.auto.create.topics": False,
            **with_variables(self.client),
            "bootstrap.servers": self.bootstrap_servers,
            "group.id": self.group_id or "penstock",
            "isolation.level": self.isolation_level,
            "auto.offset.reset": self.reset_when_deleted,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
        }

    def admin_configuration(self) -> dict[str, str | int | bool]:
        """The configuration of an admin client."""
        client = {name: value for name, value in self.client.items() if name not in _CONSUMER_ONLY}
        return {**with_variables(client), "bootstrap.servers": self.bootstrap_servers}


def client_settings(
    properties: Mapping[str, str], *, renamed: Mapping[str, str], refused: Mapping[str, str], left_out: Collection[str]
) -> dict[str, str]:
    """The settings of the C client for properties by Java's names; raises `ConfigurationError` for refused ones."""
    client: dict[str, str] = {}
    reasons = {**_REFUSED, **refused}
    for name, value in properties.items():
        if name in reasons:
            raise ConfigurationError(f"the Kafka property {name} cannot be used: {reasons[name]}")
        if name == "sasl.jaas.config":
            client.update(_login(value))
        elif name not in left_out and name != "bootstrap.servers":
            client[renamed.get(name, name)] = value
    return client


def with_variables(client: Mapping[str, str]) -> dict[str, str]:
    """Settings with `${env:NAME}` replaced by what the environment of this process has: such secrets travel nowhere."""

    def value_of(name: str, match: re.Match[str]) -> str:
        try:
            return os.environ[match[1]]
        except KeyError:
            raise ConfigurationError(
                f"the Kafka property {name} is taken from the environment variable {match[1]}, which is not set here; "
                "set it for the driver and for every worker"
            ) from None

    return {name: _VARIABLE.sub(partial(value_of, name), value) for name, value in client.items()}


def understood(properties: Mapping[str, str]) -> KafkaProperties:
    """Translates properties; raises `ConfigurationError` for those that cannot be honoured."""
    client = client_settings(properties, renamed=RENAMED, refused={}, left_out=_WITHOUT_MEANING | _OWN)
    if "client.id.prefix" in properties:
        client["client.id"] = properties["client.id.prefix"]
    return KafkaProperties(
        bootstrap_servers=properties["bootstrap.servers"],
        client=client,
        group_id=properties.get("group.id"),
        isolation_level=_one_of(properties, "isolation.level", ("read_committed", "read_uncommitted")),
        reset_when_deleted={"none": "error"}.get(
            reset := _one_of(properties, "auto.offset.reset", ("none", "earliest", "latest")), reset
        ),
        discovery_interval_ms=number(properties, "partition.discovery.interval.ms", DEFAULT_DISCOVERY_INTERVAL_MS),
        commits_offsets=_one_of(properties, "commit.offsets.on.checkpoint", ("true", "false")) == "true",
        read_timeout_ms=number(properties, "penstock.read.timeout.ms", DEFAULT_READ_TIMEOUT_MS),
    )


def _one_of(properties: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = str(properties.get(name, allowed[0])).lower()
    if value not in allowed:
        raise ConfigurationError(f"the Kafka property {name} is one of {', '.join(allowed)}, got {value!r}")
    return value


def number(properties: Mapping[str, str], name: str, default: int) -> int:
    """A property that is a number."""
    try:
        return int(properties.get(name, default))
    except ValueError:
        raise ConfigurationError(f"the Kafka property {name} is a number, got {properties[name]!r}") from None


def _login(jaas: str) -> dict[str, str]:
    found = {match["name"]: match["value"] for match in _LOGIN.finditer(jaas)}
    if set(found) != {"username", "password"}:
        raise ConfigurationError(
            "the Kafka property sasl.jaas.config holds no username and password; set sasl.username and sasl.password "
            "(or the C client's settings for another mechanism) instead"
        )
    return {"sasl.username": found["username"], "sasl.password": found["password"]}
