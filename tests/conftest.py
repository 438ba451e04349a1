"""What all tests share: the servers that some of them need."""

from __future__ import annotations

import json
import logging
import multiprocessing.util
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from services.kafka import KafkaBroker
from services.postgres import Postgres
from services.running import running

# Hypothesis' deadline of 200 ms an example measures how busy the machine is, not the code under test.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")

# Where the suite was started in the background, SIGINT is ignored, also by the programs that tests send it to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A job that fails in a test is to fail at once; tests of restarts set a strategy.
os.environ.setdefault("PENSTOCK_RESTART_STRATEGY", "none")

# The JVMs of tests live for seconds: compiling their code a second and better time costs more than it saves.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")

# Tests kill processes, never the machine: what they write need not get to a disk.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture(scope="session", autouse=True)
def temporary_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What programs put into temporary folders goes with those of the tests."""
    if tmp_path_factory.getbasetemp().is_relative_to(MEMORY):
        multiprocessing.util.get_temp_dir()  # outside: it is removed when this process ends, which is later
        tempfile.tempdir = os.environ["TMPDIR"] = str(tmp_path_factory.mktemp("temporary"))


@pytest.fixture
def penstock_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.LogCaptureFixture]:
    """What Penstock logs, whether or not a job that ran before has kept its lines from the root logger."""
    logger = logging.getLogger("penstock")
    caplog.set_level(logging.INFO, logger.name)
    monkeypatch.setattr(logger, "propagate", False)
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


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


SECONDS = json.loads(Path(__file__).with_name("seconds.json").read_text(encoding="utf-8"))
"""How long the longer test files took when `tools/record_test_seconds.py` was run."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need a server, and puts all in order.

    Files that kill processes come first, then all others on Spark: its workers end when they have had nothing to do
    for a minute, and cost seconds to make again. Among these, and among the rest, the longest comes first: in the end
    no worker of pytest-xdist has a long one left.
    """
    faults, spark = ({item.path for item in items if item.get_closest_marker(name)} for name in ("faults", "spark"))
    items.sort(key=lambda item: (item.path not in faults, item.path not in spark, -SECONDS.get(item.path.stem, 0)))
    for item in items:
        for fixture, marker in (("kafka_broker", "kafka"), ("postgres", "postgres")):
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(marker)
