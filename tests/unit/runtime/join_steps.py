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


def driven(build: Callable[[DataStream, DataStream], DataStream], steps: list[Step]) -> Harness:
    """Takes the steps; a record is its key and the number of its step. Then both streams end."""
    test = harness(build)
    for number, (kind, record_key, time) in enumerate(steps):
        match kind:
            case "left":
                test.process_element1((record_key, number), time)
            case "right":
                test.process_element2((record_key, number), time)
            case "watermark":
                test.process_watermark(time)
            case _:
                test.restore(test.snapshot())
    test.close()
    return test


def stored(test: Harness) -> list[bytes]:
    """What the operators keep, without what is there for ever."""
    keys = [each for entries in test.snapshot().entries.values() for each, _ in entries]
    return [each for each in keys if not each.startswith(b"\x00gate") and each[8:12] != b"\0cat"]


def in_order(emitted: list[tuple[Any, int | None]]) -> list[tuple[Any, int | None]]:
    """What was emitted, whatever the order."""
    return sorted(emitted, key=repr)
