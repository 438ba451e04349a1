"""History first, then live."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.common.errors import JobExecutionException, PlanError
from penstock.connectors.files import FileSink, FileSource, TextLineFormat
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from savepoints.ledger_job import AtEpoch, Stamps, published

COUNT = 300


def environment(directory: Path) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in {
        "execution.engine": "local",
        "execution.checkpointing.dir": str(directory / "live"),
        "execution.epoch.max-records": "20",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    source = FileSource(str(directory / "in"), TextLineFormat(), watch="10 ms", settle="0 ms")
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(Stamps())
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        .uid("numbers")
        .set_parallelism(1)
        .map(parsed, Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()]))
        .uid("parsed")
        .set_parallelism(1)
        .assign_timestamps_and_watermarks(strategy)
        .uid("times")
        .set_parallelism(1)
        .key_by(lambda record: record[0], Types.STRING())
        .window(TumblingEventTimeWindows.of("7 s"))
        .reduce(lambda a, b: (a[0], a[1] + b[1], max(a[2], b[2])))
        .uid("windows")
        .map(str, Types.STRING())
        .uid("shown")
        .sink_to(FileSink(str(directory / "out"), "text"))
        .uid("out")
    )
    return env


def parsed(line: str) -> tuple[str, int, int]:
    number = int(line)
    return f"user-{number % 3}", number, number * 100


def write(directory: Path, first: int, last: int) -> None:
    (directory / "in").mkdir(exist_ok=True)
    path = directory / "in" / f"{first:05d}.txt"
    path.write_text("".join(f"{number}\n" for number in range(first, last)))


def windows_until(end: int) -> Counter[str]:
    """What windows that are over before `end` have, whatever the cut between history and live."""
    sums: dict[tuple[str, int], tuple[str, int, int]] = {}
    for number in range(COUNT):
        key, value, time = parsed(str(number))
        place = key, time // 7000
        before = sums.get(place)
        sums[place] = (key, value, time) if before is None else (key, before[1] + value, max(before[2], time))
    return Counter(str(each) for (_, window), each in sums.items() if (window + 1) * 7000 <= end)


def test_live_begins_where_history_ends(tmp_path: Path) -> None:
    write(tmp_path, 0, COUNT // 2)
    client = environment(tmp_path).execute_backfill_to_live(str(tmp_path / "savepoints"), "windows")
    history = published(tmp_path / "out")
    assert history == windows_until(COUNT // 2 * 100 - 1100)
    assert [path.name for path in (tmp_path / "savepoints").iterdir() if path.name == "history"] == []
    write(tmp_path, COUNT // 2, COUNT)
    client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(60)
    while published(tmp_path / "out") != windows_until(COUNT * 100 - 1100):
        client = environment(tmp_path).execute_backfill_to_live(str(tmp_path / "unused"), "windows")
        client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(60)
        assert not published(tmp_path / "out") - windows_until(COUNT * 100 - 1100)
    assert not (tmp_path / "unused").exists()


def test_a_history_that_dies_goes_on(tmp_path: Path) -> None:
    for first in range(0, COUNT, 10):
        write(tmp_path, first, first + 10)

    def power_cut(_: Any) -> None:
        raise RuntimeError("power cut")

    hook = AtEpoch(2)
    history_options = {"execution.epoch.max-bytes": "100"}

    def start() -> Any:
        return environment(tmp_path).execute_backfill_to_live(str(tmp_path / "savepoints"), None, history_options)

    with pytest.raises(JobExecutionException, match="power cut"):
        hook.run_blocking(start, power_cut)
    assert (tmp_path / "savepoints" / "history" / "manifests").is_dir()
    client = start()
    assert published(tmp_path / "out") == windows_until(COUNT * 100 - 1100)
    client.cancel().result(60)


def test_a_program_whose_sources_end_has_no_live(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_sequence(1, 3).print()
    with pytest.raises(PlanError, match="every source of the program ends"):
        env.execute_backfill_to_live(str(tmp_path))
