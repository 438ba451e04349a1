from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.typeinfo import Types
from penstock.connectors.datagen import DataGeneratorSource
from penstock.connectors.source import Boundedness


def square(number: int) -> int:
    return number * number


def test_a_bounded_generator_is_called_with_every_number(run_source):
    run = run_source(DataGeneratorSource(square, 10, type_info=Types.LONG()), parallelism=3)
    assert sorted(value for epoch in run.epochs(records=4) for value in epoch) == [n * n for n in range(10)]
    assert sorted(run.finished_splits) == ["0", "1", "2"]


def test_all_splits_end_though_the_last_epoch_has_fewer_records(run_source):
    run = run_source(DataGeneratorSource(square, 1, type_info=Types.LONG()), parallelism=4)
    assert run.epoch() == [0]
    assert sorted(run.finished_splits) == ["0", "1", "2", "3"]


def test_an_epoch_reads_what_is_due_by_the_clock(run_source):
    run = run_source(DataGeneratorSource(square, rate_per_second=10, type_info=Types.LONG()))
    assert run.epoch(now=5000) == [0]
    assert run.epoch(now=5050) == []
    assert run.enumerator.next_poll(5050) == 5100
    assert run.epoch(now=5100) == [1]
    assert run.epoch(now=5500) == [4, 9, 16, 25]


def test_a_restart_leaves_no_gap_and_does_not_catch_up_with_the_time_it_was_away(run_source):
    run = run_source(DataGeneratorSource(square, rate_per_second=10, type_info=Types.LONG()))
    assert run.epoch(now=0) == [0]
    run.restart()
    assert run.epoch(now=1_000_000) == [1]
    assert run.epoch(now=1_000_200) == [4, 9]


def test_the_budget_limits_a_generator_without_a_rate(run_source):
    source = DataGeneratorSource(square, type_info=Types.LONG())
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    run = run_source(source)
    assert run.epoch(records=3) == [0, 1, 4]
    assert run.epoch(records=2) == [9, 16]
    assert not run.enumerator.is_exhausted()


def text(number: int) -> str:
    return str(number % 10) * 10_000


def texts(start: int, end: int) -> pa.RecordBatch:
    return pa.record_batch({"text": [text(number) for number in range(start, end)]})


SOURCES_OF_10_KB = [
    DataGeneratorSource(text, type_info=Types.STRING()),
    DataGeneratorSource(text, type_info=Types.PICKLED_BYTE_ARRAY()),
    DataGeneratorSource(type_info=Types.ROW_NAMED(["text"], [Types.STRING()]), batch_function=texts),
]


@pytest.mark.parametrize("source", SOURCES_OF_10_KB)
def test_an_epoch_has_as_many_records_as_its_bytes_allow_once_their_size_is_known(run_source, source):
    run = run_source(source, parallelism=2)
    assert len(run.epoch(size=4_000_000)) == 2000, "a small epoch to begin with"
    assert len(run.epoch(size=4_000_000)) == pytest.approx(400, rel=0.01)
    run.restart()
    assert len(run.epoch(size=4_000_000)) == pytest.approx(400, rel=0.01)


def test_small_records_fill_the_second_epoch(run_source):
    run = run_source(DataGeneratorSource(square, 100_000, type_info=Types.LONG()))
    assert [len(epoch) for epoch in run.epochs(size=256 << 20)] == [2000, 98_000]


def generator(number: int) -> Iterator[int]:
    yield number


def test_values_that_cannot_be_measured_stay_in_small_epochs(run_source):
    run = run_source(DataGeneratorSource(generator, type_info=Types.PICKLED_BYTE_ARRAY()))
    assert [len(run.epoch()), len(run.epoch())] == [2000, 2000]


def test_a_generator_tells_how_many_records_wait_for_the_next_epoch(run_source):
    bounded = run_source(DataGeneratorSource(square, 10, type_info=Types.LONG()))
    bounded.epoch(records=4)
    assert bounded.enumerator.lag() == 6
    rated = run_source(DataGeneratorSource(square, rate_per_second=10, type_info=Types.LONG()))
    rated.epoch(now=0)
    assert rated.enumerator.lag() == 0
    rated.epoch(now=1000, records=4)
    assert rated.enumerator.lag() == 6
    endless = run_source(DataGeneratorSource(square, type_info=Types.LONG()))
    endless.epoch(records=4)
    assert endless.enumerator.lag() == 4, "another epoch, always"


def test_batch_execution_generates_all_records_at_once(run_source):
    run = run_source(DataGeneratorSource(square, 5000, type_info=Types.LONG()), bounded=True)
    assert len(run.epoch()) == 5000


def test_batch_execution_takes_no_notice_of_the_rate(run_source):
    run = run_source(DataGeneratorSource(square, 5, 0.001, Types.LONG()), bounded=True)
    assert run.epoch() == [0, 1, 4, 9, 16]


def test_batch_execution_gets_nothing_of_a_generator_without_an_end(run_source):
    run = run_source(DataGeneratorSource(square, type_info=Types.LONG()), bounded=True)
    assert run.epoch() == []
    assert not run.enumerator.is_exhausted()


def payments(start: int, end: int) -> pa.RecordBatch:
    numbers = pa.array(range(start, end), pa.int32())
    return pa.record_batch({"cents": numbers, "id": numbers})


def one_number(start: int, end: int) -> list[int]:
    return [start]


def test_a_batch_function_gives_columns_which_are_put_in_order_and_cast(run_source):
    type_info = Types.ROW_NAMED(["id", "cents"], [Types.LONG(), Types.DOUBLE()])
    run = run_source(DataGeneratorSource(count=3, type_info=type_info, batch_function=payments))
    assert [tuple(row) for row in run.epoch()] == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_a_batch_function_that_returns_too_few_records_is_found_out(run_source):
    source = DataGeneratorSource(count=3, type_info=Types.LONG(), batch_function=one_number)
    with pytest.raises(SourceError, match="returned 1 records"):
        run_source(source).epoch()


@pytest.mark.parametrize(
    "arguments",
    [
        {"generator_function": square},
        {"type_info": Types.LONG()},
        {"generator_function": square, "type_info": Types.LONG(), "batch_function": payments},
        {"generator_function": square, "type_info": Types.LONG(), "count": -1},
        {"generator_function": square, "type_info": Types.LONG(), "rate_per_second": 0},
    ],
)
def test_what_makes_no_sense_is_refused(arguments):
    with pytest.raises(ConfigurationError, match="data generator"):
        DataGeneratorSource(**arguments)
