"""The crash matrix with a Kafka broker and PostgreSQL, which are killed and held. `make soak` does it at every step."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from faults.matrix_job import write_matrix_input
from faults.matrix_oracle import MatrixOracle
from faults.matrix_processes import MatrixProcess, signal_processes, with_children
from faults.matrix_services import MatrixServices
from services.kafka import KafkaBroker
from services.postgres import Postgres

pytestmark = pytest.mark.faults

SECONDS = 120
OPTIONS = {
    "execution.engine": "local",
    "state.backend": "lmdb",
    "execution.epoch.max-records": "16",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "200 ms",
}


def test_servers_that_die_or_hang_in_the_middle_of_a_transaction(
    kafka_broker: KafkaBroker, postgres: Postgres, tmp_path: Path
) -> None:
    """The broker dies when messages are sent and not committed, the database when rows are, and then it hangs."""
    source, directory = tmp_path / "in", tmp_path / "run"
    write_matrix_input(source, files=5)
    services = MatrixServices.create(kafka_broker, postgres, source)
    marks = [tmp_path / "sent", tmp_path / "written", tmp_path / "hangs"]
    steps = ["sink.kafka.sent@1", "sink.jdbc.written@2", "manifest.after@4"]
    process = MatrixProcess(
        source,
        directory,
        {**OPTIONS, "state.local-dir": str(tmp_path / "local")},
        fail_points=";".join(f"{step}=pause:{mark}" for step, mark in zip(steps, marks, strict=True)),
        services=services.to_json(),
    )
    try:
        assert process.is_paused(marks[0], SECONDS), process.log.read_text()
        kafka_broker.kill()
        process.go_on()
        kafka_broker.start()
        assert process.is_paused(marks[1], SECONDS), process.log.read_text()
        postgres.kill()
        process.go_on()
        postgres.start()
        assert process.is_paused(marks[2], SECONDS), process.log.read_text()
        held = with_children(json.loads((postgres.directory / "server.json").read_text())["pid"])
        signal_processes(held, signal.SIGSTOP)
        process.go_on()
        assert process.wait(1) is None, "nothing can be published meanwhile"
        signal_processes(held, signal.SIGCONT)
        assert process.wait(SECONDS) == 0, process.log.read_text()
    finally:
        process.end()
    assert MatrixOracle(source).differences(directory, services.read_sums(), services.read_windows(postgres)) == []
