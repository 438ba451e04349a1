"""What all tests share: the servers that some of them need."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from services.kafka import KafkaBroker
from services.postgres import Postgres
from services.running import running

# Hypothesis' deadline of 200 ms an example measures how busy the machine is, not the code under test.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")

# A job that fails in a test is to fail at once; tests of restarts set a strategy.
os.environ.setdefault("PENSTOCK_RESTART_STRATEGY", "none")


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A running Kafka broker, started for the first test that asks for it; one per worker of pytest-xdist."""
    with running(KafkaBroker(tmp_path_factory.mktemp("kafka"))) as broker:
        yield broker


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A running PostgreSQL server, started for the first test that asks for it; one per worker of pytest-xdist."""
    with running(Postgres(tmp_path_factory.mktemp("postgres"))) as server:
        yield server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need a server."""
    for item in items:
        for fixture, marker in (("kafka_broker", "kafka"), ("postgres", "postgres")):
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(marker)
