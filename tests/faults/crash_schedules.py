"""Crash schedules on the local engine: a seed decides at which steps of the protocol the driver dies, and how much an
epoch reads after it: from a part of one file to several, so that the number of source tasks varies.

The suite runs 2,000 of them, in two files that run side by side; `make soak` runs 6,000.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

from faults.rolling_job import expected, published, start_job
from penstock.common import fail_points
from penstock.common.fail_points import SimulatedCrash

OPTIONS = {
    "execution.engine": "local",
    "execution.epoch.max-records": "25",
    "state.retained-checkpoints": "3",
    "logging.level": "warning",
}
BLOCKS = range(int(os.environ.get("PENSTOCK_CRASH_BLOCKS", "10")))
"""Of deterministic and of non-deterministic schedules, each."""
_SCHEDULES_PER_BLOCK = 100


class CrashAtStep:
    """Raises at the n-th step, and at every later one: a dead process takes no more steps."""

    def __init__(self, step: int) -> None:
        self._left = step
        self.reached: list[str] = []

    def __call__(self, name: str) -> None:
        self.reached.append(name)
        self._left -= 1
        if self._left <= 0:
            raise SimulatedCrash(name)


def run_until_done(directory: Path, rng: random.Random, *, noise: bool, backend: str) -> int:
    """Starts the job again and again until it ends; returns how often it crashed."""
    crashes = 0
    while True:
        fail_points.arm(CrashAtStep(rng.randint(1, 60)) if crashes < 12 else None)
        varied = {"execution.epoch.max-records": str(rng.choice((10, 25, 45, 70)))}
        try:
            job = start_job(
                source=directory.parent / "in",
                sink=directory / "out",
                checkpoint=directory / "checkpoint",
                options={**OPTIONS, **varied, "state.backend": backend, "state.local-dir": str(directory / "local")},
                noise=noise,
            )
            job.wait(60)
        except SimulatedCrash:
            crashes += 1
        else:
            return crashes
        finally:
            fail_points.arm(None)


def run_block(source: Path, block: int, *, noise: bool) -> None:
    """Runs the schedules of a block, and compares what each of them leaves with a plain loop over the input."""
    oracle = expected(source / "in")
    crashes = 0
    for seed in range(block * _SCHEDULES_PER_BLOCK, (block + 1) * _SCHEDULES_PER_BLOCK):
        directory = source / f"{noise}-{seed}"
        backend = "lmdb" if seed % 10 == 0 else "memory"
        crashes += run_until_done(directory, random.Random(seed), noise=noise, backend=backend)
        assert published(directory / "out") == oracle, f"seed {seed}"
        shutil.rmtree(directory)
    assert crashes > _SCHEDULES_PER_BLOCK, "the schedules are meant to crash more than once each"
