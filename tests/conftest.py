"""What all tests share: the servers that some of them need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from services.kafka import KafkaBroker

# Hypothesis' deadline of 200 ms an example measures how busy the machine is, not the code under test.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A running Kafka broker, started for the first test that asks for it; one per worker of pytest-xdist."""
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    try:
        broker.start()
        yield broker
    finally:
        broker.delete()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need the broker."""
    for item in items:
        if "kafka_broker" in getattr(item, "fixturenames", ()):
            item.add_marker("kafka")
