"""Every scenario runs straight through, and with a snapshot and restore after every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.datastream import DataStream, OutputTag
from penstock.testing import Harness, harness


class Scenario:
    """A pipeline and its steps. Results are taken as lists of (value, timestamp), sorted where keys have no order."""

    def __init__(self, build: Callable[[DataStream], DataStream], restored: bool) -> None:
        self.harness: Harness = harness(build)
        self._restored = restored

    def add(self, *records: tuple[Any, int | None]) -> Scenario:
        for value, timestamp in records:
            self.harness.process_element(value, timestamp)
            self._step()
        return self

    def watermark(self, timestamp: int) -> list[tuple[Any, int | None]]:
        self.harness.process_watermark(timestamp)
        self._step()
        return self.results()

    def clock(self, now: int) -> list[tuple[Any, int | None]]:
        self.harness.set_processing_time(now)
        self._step()
        return self.results()

    def end(self) -> list[tuple[Any, int | None]]:
        self.harness.close()
        return self.results()

    def results(self) -> list[tuple[Any, int | None]]:
        return sorted(self.harness.output(), key=lambda result: (result[1] or 0, repr(result[0])))

    def late(self, tag: OutputTag) -> list[tuple[Any, int | None]]:
        return self.harness.side_output(tag)

    @property
    def dropped(self) -> int:
        return self.harness.counter("num_late_records_dropped")

    def stored(self) -> int:
        """How many entries the state of the operators has, without what is there for ever."""
        entries = [key for found in self.harness.snapshot().entries.values() for key, _ in found]
        return sum(1 for key in entries if not key.startswith(b"\x00gate") and key[8:12] != b"\0cat")

    def _step(self) -> None:
        if self._restored:
            self.harness.restore(self.harness.snapshot())


@pytest.fixture(params=[False, True], ids=["straight", "restored"])
def scenario(request: pytest.FixtureRequest) -> Callable[[Callable[[DataStream], DataStream]], Scenario]:
    return lambda build: Scenario(build, request.param)
