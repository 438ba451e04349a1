"""A job that has ended, and is started again on its checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import Configuration, JobStatus
from penstock.testing import local_environment
from penstock.testing.memory_sink import MemorySink


def test_a_second_run_reads_nothing_and_says_so(tmp_path: Path, penstock_log: pytest.LogCaptureFixture) -> None:
    found: list[list[int]] = []
    for factor in (1, 2):
        sink = MemorySink()
        env = local_environment(Configuration().set_string("execution.checkpointing.dir", str(tmp_path)))
        env.from_collection([1, 2]).uid("numbers").map(lambda n, f=factor: n * f).uid("map").sink_to(sink).uid("out")
        env.execute()
        found.append(list(sink.records))
    assert found == [[1, 2], []], "what is known to be out is not published again"
    told = [line for line in penstock_log.messages if line.startswith("this job has ended before")]
    assert len(told) == 1


def test_a_job_that_has_finished_is_not_cancelled_any_more() -> None:
    env = local_environment()
    env.from_collection([1, 2]).sink_to(MemorySink())
    client = env.execute_async()
    client.wait()
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.FINISHED
