from __future__ import annotations

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
