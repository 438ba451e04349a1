"""An epoch's memory is bounded by what an epoch may read, however the records are spread over keys."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from faults.rolling_job import expected, published, start_job, write_input
from penstock.engine.stages import stage_subtask
from penstock.engine.stages.gather import Gather
from penstock.engine.stages.sorted_input import SortedInput

SCRIPT = Path(__file__).with_name("wide_job.py")
RECORDS = 1_000_000
UNLIMITED = 1 << 40
BOUND_MEGABYTES = 350
"""About 220 are used with epochs of 100,000 records, and 550 when one epoch reads all of the million."""


def peak_of(keys: int, epoch_records: int) -> int:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(keys), str(epoch_records)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert measured["total"] == RECORDS
    return measured["peak"]


@pytest.mark.parametrize("keys", [20_000, 1], ids=["many keys", "one key"])
def test_the_peak_follows_the_size_of_an_epoch_and_not_the_input(keys):
    assert peak_of(keys, 100_000) < BOUND_MEGABYTES < peak_of(keys, UNLIMITED)


@pytest.mark.parametrize(("memory", "spills"), [("100 b", True), ("1 mb", False)])
def test_what_a_task_must_hold_back_waits_on_disk(tmp_path, monkeypatch, memory, spills):
    spilled: list[int] = []

    class WatchedGather(Gather):
        def close(self) -> None:
            spilled.append(self.spilled_bytes)
            super().close()

    monkeypatch.setattr(stage_subtask, "Gather", WatchedGather)
    write_input(tmp_path / "in", files=4, records=500)
    start_job(
        source=tmp_path / "in",
        sink=tmp_path / "out",
        checkpoint=tmp_path / "checkpoint",
        options={
            "execution.engine": "local",
            "execution.epoch.max-records": "1000",
            "execution.gather-memory": memory,
        },
        noise=False,
    ).wait(60)
    assert published(tmp_path / "out") == expected(tmp_path / "in")
    assert (sum(spilled) > 1000) == spills


@pytest.mark.parametrize(("memory", "spills"), [("8 kb", True), ("8 mb", False)])
def test_a_batch_that_does_not_fit_in_memory_is_sorted_on_disk(tmp_path, monkeypatch, memory, spills):
    spilled: list[int] = []

    class WatchedInput(SortedInput):
        def close(self) -> None:
            spilled.append(self.spilled_bytes)
            super().close()

    monkeypatch.setattr(stage_subtask, "SortedInput", WatchedInput)
    write_input(tmp_path / "in", files=4, records=500)
    start_job(
        source=tmp_path / "in",
        sink=tmp_path / "out",
        checkpoint=tmp_path / "checkpoint",
        options={
            "execution.engine": "local",
            "execution.runtime-mode": "BATCH",
            "execution.gather-memory": memory,
        },
        noise=False,
    ).wait(60)
    assert published(tmp_path / "out") == expected(tmp_path / "in")
    assert (sum(spilled) > 50_000) == spills
