"""Late records that are dropped are counted once each, whatever has failed on the way."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conformance.one_job import LOCAL, SPARK
from penstock.cep import CEP, Pattern
from penstock.common import JobExecutionException, RestartStrategies, Types
from penstock.connectors.files import FileSink
from penstock.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from penstock.datastream.functions import ProcessWindowFunction
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.runtime.metrics import LATE_RECORDS_DROPPED
from penstock.testing import ScriptedSource, pause, record, watermark

RECORD = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
LATE = OutputTag("late", RECORD)
WINDOWS = TumblingEventTimeWindows.of(100)


def at(number: int, time: int) -> Any:
    return record(("a", number, time), time)


SCRIPT = [
    *(at(1, 100), at(2, 140), watermark(200), pause("20 ms")),
    *(at(3, 110), at(4, 240), pause("20 ms")),
    *(at(5, 120), watermark(300), pause("20 ms")),
    *(at(6, 130), at(7, 230), at(8, 350), watermark(400), pause("20 ms")),
    *(at(9, 130), at(10, 450), watermark(500)),
]
"""Epochs with 0, 1, 1, 2 and 1 late records; windows fire in the first, the third, the fourth and the last."""
RECORDS, LATE_RECORDS = 10, 5


class Sizes(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield context.window().end, len(list(elements))


class PowerCut:
    """Fails once at the end of each of two windows, when late records of the same epoch have been counted."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __call__(self, result: tuple[int, int]) -> str:
        end, size = result
        there = self._directory / f"power was cut at {end}"
        if end in (300, 400) and not there.exists():
            there.touch()
            raise RuntimeError("power cut")
        return f"result {size}"


def build(env: StreamExecutionEnvironment, directory: Path) -> None:
    """One operator of each kind that drops late records, by its name, and windows with a side output for them."""
    records = env.from_source(ScriptedSource(SCRIPT, type_info=RECORD)).uid("records")
    keyed = records.key_by(lambda each: each[0], Types.STRING())
    sizes = keyed.window(WINDOWS).process(Sizes(), Types.TUPLE([Types.LONG(), Types.INT()])).uid("windows")
    with_side_output = keyed.window(WINDOWS).side_output_late_data(LATE).process(Sizes(), sizes.get_type())
    others: dict[str, DataStream] = {
        "in columns": keyed.window(WINDOWS).sum(1),
        "reduced": keyed.window(WINDOWS).reduce(lambda one, two: (one[0], one[1] + two[1], two[2])),
        "interval join": keyed.interval_join(keyed).between(-5, 5).process(lambda one, two, ctx: [one[1]], Types.INT()),
        "temporal join": keyed.temporal_join(keyed).apply(lambda one, two: one[1], Types.INT()),
        "window join": records.join(records).where(0).equal_to(0).window(WINDOWS).apply(lambda one, two: one[1]),
        "pattern": CEP.pattern(keyed, Pattern.begin("one").where(lambda each: each[1] > 3)).select(lambda match: 1),
    }
    for name, stream in others.items():
        stream.uid(name).add_sink(lambda each: None)
    texts = [
        sizes.map(PowerCut(directory), Types.STRING()),
        with_side_output.map(lambda result: f"beside: result {result[1]}", Types.STRING()),
        with_side_output.uid("beside").get_side_output(LATE).map(lambda each: "beside: late 1", Types.STRING()),
    ]
    texts[0].union(*texts[1:]).sink_to(FileSink(str(directory / "out"), "text"))


def run(env: StreamExecutionEnvironment, directory: Path) -> dict[str, Any]:
    build(env, directory)
    job = env.execute_async()
    job.wait()
    return job.metrics()["operators"]


def published(directory: Path) -> Counter[str]:
    """How many records are in results and among the late ones."""
    counts: Counter[str] = Counter()
    for path in (directory / "out").glob("*.txt"):
        for line in path.read_text().splitlines():
            name, count = line.rsplit(" ", 1)
            counts[name] += int(count)
    return counts


@pytest.mark.parametrize("engine_and_mode", [LOCAL[0], SPARK[0]])
def test_restarts_lose_no_late_record_and_count_none_twice(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 1))
    with pytest.raises(JobExecutionException, match="power cut"):
        run(env, tmp_path)  # it goes on by itself after the first failure only
    metrics = run(env, tmp_path)
    dropped = {uid: counts.get(LATE_RECORDS_DROPPED) for uid, counts in metrics.items()}
    of_one = dict.fromkeys(("windows", "in columns", "reduced", "pattern"), LATE_RECORDS)
    of_two = dict.fromkeys(("interval join", "temporal join", "window join"), 2 * LATE_RECORDS)
    assert {uid: count for uid, count in dropped.items() if count} == {**of_one, **of_two}
    counts = published(tmp_path)
    assert counts["result"] + dropped["windows"] == RECORDS
    assert counts["beside: result"] + counts["beside: late"] == RECORDS
    assert counts["beside: late"] == LATE_RECORDS
    assert metrics["records"]["out"] >= RECORDS
