"""Time that passes for the tasks of pipelined mode only: when they look at the clock, and when they wait."""

from __future__ import annotations

import time as real

import pytest

from penstock.engine.pipelined import live_source_subtask, live_stage_subtask, processing_clock
from pipelined import list_source

_LOOK_SECONDS = 0.001


class VirtualTime:
    """In place of the module `time`. An epoch takes no time, and brings the same records on every machine."""

    def __init__(self) -> None:
        self._passed = 0.0
        self._looked = 0.0

    def monotonic(self) -> float:
        self._passed += _LOOK_SECONDS
        return self._passed

    def time(self) -> float:
        # Asked much more often, and by tasks that have much to do: that must not end their epochs.
        self._looked += _LOOK_SECONDS
        return real.time() + self._passed + self._looked

    def sleep(self, seconds: float) -> None:
        self._passed += seconds


def install_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives the tasks of this process, and the lists that they follow, another clock."""
    virtual = VirtualTime()
    for module in (live_source_subtask, live_stage_subtask, processing_clock, list_source):
        monkeypatch.setattr(module, "time", virtual)
