"""A function that raises StopIteration, as `next(...)` does where nothing is found: an error like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Encoder, WatermarkStrategy
from penstock.common.errors import JobExecutionException
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.data_stream import DataStream
from penstock.testing import local_environment
from penstock.testing.memory_sink import MemorySink


def known(number: int, *_: object) -> int:
    return next(each for each in (1, 2) if each == number)


def in_time(number: int, timestamp: int) -> int:
    return known(number) + timestamp


STEPS: dict[str, Callable[[DataStream], DataStream]] = {
    "map": lambda numbers: numbers.map(known),
    "filter": lambda numbers: numbers.filter(lambda number: known(number) > 0),
    "flat_map": lambda numbers: numbers.flat_map(lambda number: [known(number)]),
    "key_by": lambda numbers: numbers.key_by(known).map(lambda number: number),
    "timestamps": lambda numbers: numbers.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(in_time)
    ),
}


def failure(build: Callable[[DataStream], Any]) -> str:
    env = local_environment()
    build(env.from_collection([1, 2, 3, 1]))
    with pytest.raises(JobExecutionException) as caught:
        env.execute()
    return str(caught.value)


@pytest.mark.parametrize("step", STEPS)
def test_no_record_is_lost_in_silence(step: str) -> None:
    told = failure(lambda numbers: STEPS[step](numbers).sink_to(MemorySink()))
    assert "StopIteration" in told
    assert "record: 3" in told


def test_nor_what_a_file_is_written_of(tmp_path: Path) -> None:
    encoder = Encoder(lambda number: b"%d\n" % known(number))
    told = failure(lambda numbers: numbers.sink_to(FileSink.for_row_format(str(tmp_path), encoder).build()))
    assert "StopIteration" in told
