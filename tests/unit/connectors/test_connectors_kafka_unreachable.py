"""Kafka that is not there is told of at once, and waited for as long as readers wait; unknown options are refused."""

from __future__ import annotations

import pytest

from penstock.common.errors import ConfigurationError, SourceError
from penstock.connectors.kafka import broker
from penstock.connectors.kafka.properties import understood

NOBODY = "127.0.0.1:1"


def test_an_address_where_nobody_answers_is_told_with_what_to_look_at(
    penstock_log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "_TIMEOUT_SECONDS", 0.3)
    properties = understood({"bootstrap.servers": NOBODY, "penstock.read.timeout.ms": "1000"})
    with pytest.raises(SourceError) as failure:
        broker.KafkaBroker(properties).partitions_of(["orders"])
    message = str(failure.value)
    assert message.startswith(f"Kafka at {NOBODY} does not answer as it should: ")
    assert message.endswith("It was asked for 1 s: is the broker running, and is this its address?")
    assert "KafkaError{" not in message
    assert [record.getMessage().split("; ")[-1] for record in penstock_log.records] == ["it is asked again for 1 s"]


def test_a_property_that_the_client_does_not_know_is_named() -> None:
    properties = understood({"bootstrap.servers": NOBODY, "auto.ofset.reset": "earliest"})
    with pytest.raises(ConfigurationError, match=r'No such configuration property: "auto\.ofset\.reset"'):
        broker.KafkaBroker(properties)
