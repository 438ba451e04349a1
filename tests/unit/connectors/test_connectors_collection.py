from __future__ import annotations

import pickle

import pytest

from penstock.common.row import Row
from penstock.common.typeinfo import Types
from penstock.connectors.collection import CollectionSource


def test_values_come_in_order_and_once(run_source):
    run = run_source(CollectionSource(list(range(20_000)), Types.LONG()))
    assert run.epoch() == list(range(20_000))
    assert run.enumerator.is_exhausted()
    assert run.finished_splits == ["0"]
    assert run.epoch() == []


def test_an_epoch_keeps_to_the_budget_of_records(run_source):
    run = run_source(CollectionSource(list(range(10)), Types.LONG()))
    assert list(run.epochs(records=4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_an_epoch_keeps_to_the_budget_of_bytes_but_reads_something(run_source):
    run = run_source(CollectionSource([f"{number:01000d}" for number in range(100)], Types.STRING()))
    assert len(run.epoch(size=10_500)) == 10
    assert len(run.epoch(size=1)) == 1


def test_a_restart_goes_on_where_the_last_epoch_ended(run_source):
    run = run_source(CollectionSource(list(range(10)), Types.LONG()))
    first = run.epoch(records=3)
    run.restart()
    assert first + [value for epoch in run.epochs(records=3) for value in epoch] == list(range(10))


def test_an_empty_collection_has_ended_at_once(run_source):
    run = run_source(CollectionSource([], Types.LONG()))
    assert run.enumerator.is_exhausted()


def test_later_changes_of_the_list_are_not_seen(run_source):
    values = [[1], [2]]
    source = CollectionSource(values, Types.LIST(Types.INT()))
    values[0].append(9)
    values.append([3])
    assert run_source(source).epoch() == [[1], [2]]


def test_values_keep_their_python_form(run_source):
    rows = [Row(name="a", n=1), Row(name="b", n=None)]
    type_info = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()])
    assert run_source(CollectionSource(rows, type_info)).epoch() == rows


def test_a_value_that_cannot_travel_fails_where_the_source_is_made():
    with pytest.raises((TypeError, pickle.PicklingError)):
        CollectionSource([iter([1]), (value for value in [1])], Types.PICKLED_BYTE_ARRAY())
