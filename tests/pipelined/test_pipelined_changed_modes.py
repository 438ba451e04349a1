"""A job changes between epochs and pipelined mode from one start to the next: the checkpoint is the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from penstock.execution.job_client import JobClient
from penstock.testing.memory_sink import MemorySink
from pipelined.list_source import two_splits
from pipelined.local_pipelined import environment
from pipelined.running_count import Running

pytestmark = pytest.mark.usefixtures("tasks_in_this_process")


def test_a_job_goes_on_where_it_was_stopped_in_either_mode(tmp_path: Path) -> None:
    sink = MemorySink()

    def start(latency: str) -> JobClient:
        env = environment(latency, execution__checkpointing__dir=str(tmp_path / "checkpoint"))
        records = env.from_source(two_splits(per_epoch=2), None, "pairs").uid("pairs")
        records.key_by(lambda pair: pair[0]).process(Running()).uid("running").sink_to(sink).uid("sink")
        return env.execute_async("counts")

    for latency in ("pipelined", "epochs"):
        before, job = len(sink.epochs), start(latency)
        while len(sink.epochs) <= before:
            if job.has_ended(0.005):
                pytest.fail(f"the job ended before it was stopped: {job.wait()}")
        job.cancel().result()
    start("pipelined").wait(60)
    assert Counter(sink.records) == Counter((f"key-{key}", count) for key in range(3) for count in range(1, 9))
