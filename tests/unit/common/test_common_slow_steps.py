"""What takes long is told, once a minute."""

from __future__ import annotations

import pytest

from penstock.common.logs import job_logger
from penstock.common.slow_steps import SlowSteps


def test_what_takes_long_is_told_once_a_minute(penstock_log: pytest.LogCaptureFixture) -> None:
    now = 0.0
    steps = SlowSteps(job_logger("payments"), lambda: now)

    def told_at(second: float, seconds: float, message: str) -> list[str]:
        nonlocal now
        now = second
        penstock_log.clear()
        steps.took(seconds, message, "disk")
        return penstock_log.messages

    assert told_at(0, 0.9, "%.1f s for the %s") == []
    assert told_at(1, 1.5, "%.1f s for the %s") == ["1.5 s for the disk"]
    assert told_at(30, 2.5, "%.1f s for the %s") == []
    assert told_at(31, 3.0, "the other %.1f s for the %s") == ["the other 3.0 s for the disk"]
    assert told_at(61, 4.0, "%.1f s for the %s") == ["4.0 s for the disk"]
