"""Sources one after the other as one: every record once, in order, with one watermark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.collection import CollectionSource
from penstock.connectors.files import FileSource, TextLineFormat
from penstock.connectors.hybrid import HybridSource, SourceSwitchContext
from penstock.connectors.sequence import NumberSequenceSource
from penstock.connectors.source import Boundedness, EnumeratorContext, EpochBudget, Source
from penstock.datastream import OutputTag
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import check_source, local_environment

BUDGET = EpochBudget(4, 1 << 30, 2)


def numbers(start: int, end: int) -> NumberSequenceSource:
    return NumberSequenceSource(start, end)


def three_in_a_row() -> HybridSource:
    return HybridSource.builder(numbers(1, 10)).add_source(numbers(11, 13)).add_source(numbers(14, 30)).build()


def after_the_last(context: SourceSwitchContext) -> Source:
    """Goes on behind the greatest number of the source before."""
    last = max(stop for _, stop in context.previous_state.values())
    return numbers(last, last + 9)


def test_every_record_once_across_the_switches() -> None:
    check_source(three_in_a_row(), range(1, 31))


def test_the_next_source_can_be_made_from_the_end_of_the_one_before() -> None:
    source = HybridSource.builder(numbers(1, 10)).add_source(after_the_last, Boundedness.BOUNDED).build()
    check_source(source, range(1, 21))


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_job_reads_one_after_the_other(mode: str) -> None:
    env = local_environment()
    env._configuration.set_string("execution.runtime-mode", mode)
    read = list(env.from_source(three_in_a_row()).execute_and_collect())
    assert read == list(range(1, 31)) if mode == "STREAMING" else sorted(read) == list(range(1, 31))


def test_files_and_what_they_lead_to(tmp_path: Path) -> None:
    (tmp_path / "2024-01-01.txt").write_text("old\n")
    (tmp_path / "2024-01-02.txt").write_text("older\n")
    seen: list[str] = []

    def live(context: SourceSwitchContext) -> Source:
        paths: list[str] = context.get_previous_enumerator().paths  # type: ignore[attr-defined]
        seen.append(Path(paths[-1]).stem)
        return CollectionSource(["live"], Types.STRING())

    history = FileSource(str(tmp_path), TextLineFormat())
    source = HybridSource.builder(history).add_source(live, Boundedness.BOUNDED).build()
    assert source.describe() == f"TextLine files in {tmp_path}, then a source made at the switch"
    result = list(local_environment().from_source(source).execute_and_collect())
    assert (sorted(result[:2]), result[2]) == (["old", "older"], "live")
    assert seen == ["2024-01-02"]


class Given(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def test_the_watermark_goes_on_across_the_switch() -> None:
    """A window that begins in one source and ends in the next is one window, and nothing in it is late."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2)).with_timestamp_assigner(Given())
    late = OutputTag("late", Types.LONG())
    windows = (
        local_environment()
        .from_source(three_in_a_row(), strategy)
        .key_by(lambda number: 0, Types.INT())
        .window(TumblingEventTimeWindows.of(8))
        .side_output_late_data(late)
        .reduce(lambda one, other: one + other)
    )
    windows.get_side_output(late).map(lambda number: pytest.fail(f"{number} is late"), Types.LONG()).print()
    expected = [sum(range(max(1, start), min(31, start + 8))) for start in range(0, 31, 8)]
    assert list(windows.execute_and_collect()) == expected


class Run:
    """The driver's side by hand, over restarts."""

    def __init__(self, source: Source, directory: Path) -> None:
        self.source = source.prepared(str(directory))
        self.state: dict[str, Any] = {}
        self.restart()

    def restart(self) -> None:
        self.state = json.loads(json.dumps(self.state))
        self.enumerator = self.source.create_enumerator(EnumeratorContext(self.state, 1, False))

    def epoch(self) -> list[int]:
        reader = self.source.create_reader()
        records: list[int] = []
        for read in self.enumerator.poll(0, BUDGET):
            records += [value for batch in reader.read(read, BUDGET) for value in batch.values]
            self.enumerator.advanced(read.split_id, reader.position, reader.finished)
        return records


def counted(make: Callable[[SourceSwitchContext], Source], calls: list[int]) -> Callable[[SourceSwitchContext], Source]:
    def make_and_count(context: SourceSwitchContext) -> Source:
        calls.append(len(calls))
        return make(context)

    return make_and_count


def test_a_source_made_at_the_switch_is_made_once(tmp_path: Path) -> None:
    calls: list[int] = []
    run = Run(HybridSource.builder(numbers(1, 4)).add_source(counted(after_the_last, calls)).build(), tmp_path / "here")
    assert run.epoch() == [1, 2, 3, 4]
    assert (run.epoch(), calls) == ([5, 6, 7, 8], [0])
    run.restart()
    assert (run.epoch(), calls) == ([9, 10, 11, 12], [0])
    # From a savepoint: another directory, without the files of sources.
    moved = Run(run.source, tmp_path / "there")
    moved.state = run.state
    moved.restart()
    assert (moved.epoch(), calls) == ([13, 14], [0, 1])


def test_nothing_is_switched_while_reads_are_under_way(tmp_path: Path) -> None:
    run = Run(HybridSource.builder(numbers(1, 4)).add_source(numbers(5, 8)).build(), tmp_path)
    (read,) = run.enumerator.poll(0, BUDGET)
    assert run.enumerator.poll(0, BUDGET) == []
    run.enumerator.advanced(read.split_id, read.end, True)
    assert run.epoch() == [5, 6, 7, 8]
    assert run.enumerator.is_exhausted()


def test_splits_that_are_held_back_are_those_of_the_source_that_is_read(tmp_path: Path) -> None:
    held: list[Any] = []
    run = Run(three_in_a_row(), tmp_path)
    run.enumerator._enumerator.hold_back = held.append  # type: ignore[attr-defined]
    run.enumerator.hold_back({"0/0", "1/0"})
    assert held == [["0"]]


def text_source(**options: Any) -> CollectionSource:
    return CollectionSource(["a"], Types.STRING())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: HybridSource.builder(3), "the first source is 3; expected a source"),  # type: ignore[arg-type]
        (lambda: HybridSource.builder(numbers(1, 2)).add_source("kafka"), "takes a source, or a function"),
        (lambda: HybridSource.builder(numbers(1, 2)).add_source(text_source()), "all sources of one stream give"),
        (
            lambda: HybridSource.builder(numbers(1, 2)).add_source(after_the_last).add_source(numbers(1, 2)),
            "a source made at the switch does not end, so nothing can come after it",
        ),
        (
            lambda: HybridSource.builder(numbers(1, 2)).add_source(numbers(3, 4), Boundedness.CONTINUOUS_UNBOUNDED),
            "boundedness is for sources that a function makes",
        ),
    ],
)
def test_what_cannot_be_one_stream_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build()


def test_broken_records_of_all_sources_go_to_one_place(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a\n")
    tag = OutputTag("broken")
    tagged = FileSource(str(tmp_path), TextLineFormat(), on_error=tag)
    same = FileSource(str(tmp_path), TextLineFormat(), on_error=OutputTag("broken"))
    assert HybridSource.builder(tagged).add_source(same).build().broken_records_tag is tag
    with pytest.raises(ConfigurationError, match="give all of them the same on_error"):
        HybridSource.builder(tagged).add_source(FileSource(str(tmp_path), TextLineFormat()))


@pytest.mark.parametrize(
    ("made", "problem", "message"),
    [(3, SourceError, "and returned 3"), (text_source(), ConfigurationError, "all sources of one stream give")],
)
def test_a_function_that_makes_something_else(
    tmp_path: Path, made: Any, problem: type[Exception], message: str
) -> None:
    run = Run(HybridSource.builder(numbers(1, 4)).add_source(lambda context: made).build(), tmp_path)
    run.epoch()
    with pytest.raises(problem, match=message):
        run.epoch()
