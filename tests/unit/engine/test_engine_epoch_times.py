"""Where epochs lose time in which nothing else goes on."""

from __future__ import annotations

import pytest

from penstock.common.logs import job_logger
from penstock.engine.epochs.epoch_times import EpochTimes, SlowEpochs


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (EpochTimes(7, 100, plan=0.2, run=30.0, publish_wait=5.0, commit=0.3), []),
        (
            EpochTimes(7, 100, plan=2.0, run=0.1, publish_wait=0.0, commit=0.3),
            ["it took 2.0 s to ask the sources what epoch 7 is to read"],
        ),
        (
            EpochTimes(7, 100, plan=0.0, run=0.1, publish_wait=0.0, commit=4.04),
            [
                "it took 4.0 s to write the manifest of epoch 7, for which all else waits: "
                "the disk or the network behind /checkpoints/payments is slow"
            ],
        ),
    ],
    ids=["work", "sources", "disk"],
)
def test_slow_steps_of_the_driver_are_told(
    times: EpochTimes, told: list[str], penstock_log: pytest.LogCaptureFixture
) -> None:
    SlowEpochs(job_logger("payments"), "/checkpoints/payments").look_at(times)
    assert penstock_log.messages == told
