from __future__ import annotations

import pytest

from penstock.common import JobStatus, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.execution.job_client import JobClient
from penstock.execution.job_watchers import watching


class InterruptedWatcher:
    """Ctrl-C comes when the job has just been started."""

    client: JobClient

    def planned(self, plan, configuration) -> None:
        pass

    def started(self, client: JobClient) -> None:
        self.client = client
        raise KeyboardInterrupt


def test_a_job_that_nobody_knows_of_yet_does_not_survive_an_interrupt(monkeypatch):
    monkeypatch.setenv("PENSTOCK_ENGINE", "local")
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    source = DataGeneratorSource(lambda n: n, rate_per_second=50, type_info=Types.LONG())
    env.from_source(source, source_name="numbers").print()
    watcher = InterruptedWatcher()
    with watching(watcher), pytest.raises(KeyboardInterrupt):
        env.execute("endless")
    watcher.client.wait(30)
    assert watcher.client.status is JobStatus.CANCELED
