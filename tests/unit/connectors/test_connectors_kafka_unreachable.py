"""Kafka that is not there: it is told at once, and waited for as long as readers wait."""

from __future__ import annotations

import logging

import pytest

from penstock.common.errors import SourceError
from penstock.connectors.kafka import broker
from penstock.connectors.kafka.properties import understood

NOBODY = "127.0.0.1:1"


def test_an_address_where_nobody_answers_is_told_with_what_to_look_at(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "_TIMEOUT_SECONDS", 0.3)
    properties = understood({"bootstrap.servers": NOBODY, "penstock.read.timeout.ms": "1000"})
    logger = logging.getLogger(broker.__name__)
    logger.addHandler(caplog.handler)  # a job that ran before may have kept Penstock's lines from the root logger
    monkeypatch.setattr(logger, "propagate", False)
    try:
        with pytest.raises(SourceError) as failure:
            broker.KafkaBroker(properties).partitions_of(["orders"])
    finally:
        logger.removeHandler(caplog.handler)
    message = str(failure.value)
    assert message.startswith(f"Kafka at {NOBODY} does not answer as it should: ")
    assert message.endswith("It was asked for 1 s: is the broker running, and is this its address?")
    assert "KafkaError{" not in message
    assert [record.getMessage().split("; ")[-1] for record in caplog.records] == ["it is asked again for 1 s"]
