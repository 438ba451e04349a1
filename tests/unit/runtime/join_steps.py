"""Steps of two streams for property tests: records, watermarks, restarts, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from penstock.datastream import DataStream, OutputTag
from penstock.testing import Harness, harness

MAX = (1 << 63) - 1
LATE_LEFT, LATE_RIGHT = OutputTag("late left"), OutputTag("late right")

Step = tuple[str, str, int]
"""What, which key, which time."""

KEY = st.sampled_from("aab")
RECORD = st.tuples(st.sampled_from(["left", "right"]), KEY, st.integers(-3, 12))
WATERMARK = st.tuples(st.just("watermark"), st.just(""), st.integers(0, 7))
RESTART = st.tuples(st.just("restart"), st.just(""), st.just(0))


def around_the_watermark(steps: list[Step]) -> list[Step]:
    """From times that are relative to the watermark before: few records are late, many are just in time."""
    watermark, absolute = 0, []
    for kind, record_key, time in steps:
        absolute.append((kind, record_key, watermark + time))
        watermark += time if kind == "watermark" else 0
    return absolute


STEPS = st.lists(st.one_of(RECORD, RECORD, RECORD, WATERMARK, RESTART), max_size=50).map(around_the_watermark)
RECORDS = st.lists(st.tuples(st.sampled_from(["left", "right"]), KEY, st.integers(0, 40)), max_size=30)


def key(record: tuple[str, int]) -> str:
    return record[0]


class Driven:
    """What came of all steps; a restart may go on with another number of subtasks."""

    def __init__(self, build: Callable[[DataStream, DataStream], DataStream]) -> None:
        self._build = lambda first, second: build(first, second).uid("join")
        self._emitted: list[Any] = []
        self._late: dict[str, list[Any]] = {LATE_LEFT.tag_id: [], LATE_RIGHT.tag_id: []}
        self.harness = harness(self._build)

    def restart(self, parallelism: int) -> None:
        self._take()
        snapshot = self.harness.snapshot()
        self.harness = harness(self._build, parallelism=parallelism)
        self.harness.restore(snapshot)

    def output(self) -> list[Any]:
        self._take()
        return self._emitted

    def side_output(self, tag: OutputTag) -> list[Any]:
        self._take()
        return self._late[tag.tag_id]

    def _take(self) -> None:
        self._emitted += self.harness.output()
        for tag in (LATE_LEFT, LATE_RIGHT):
            self._late[tag.tag_id] += self.harness.side_output(tag)


def driven(build: Callable[[DataStream, DataStream], DataStream], steps: list[Step]) -> Driven:
    """Takes the steps; a record is its key and the number of its step. Then both streams end."""
    test = Driven(build)
    for number, (kind, record_key, time) in enumerate(steps):
        match kind:
            case "left":
                test.harness.process_element1((record_key, number), time)
            case "right":
                test.harness.process_element2((record_key, number), time)
            case "watermark":
                test.harness.process_watermark(time)
            case _:
                test.restart(parallelism=1 + number % 3)
    test.harness.close()
    return test


def stored(test: Harness | Driven) -> list[bytes]:
    """What the operators keep, without what is there for ever."""
    snapshot = test.harness.snapshot() if isinstance(test, Driven) else test.snapshot()
    keys = [each for entries in snapshot.entries.values() for each, _ in entries]
    return [each for each in keys if not each.startswith(b"\x00gate") and each[8:12] != b"\0cat"]


def in_order(emitted: list[tuple[Any, int | None]]) -> list[tuple[Any, int | None]]:
    """What was emitted, whatever the order."""
    return sorted(emitted, key=repr)
