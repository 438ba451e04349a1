"""Lists and tables in memory are followed: all at once, or from where an epoch has left them."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from penstock.common import Row, Types
from penstock.common.batch import Batch
from penstock.connectors.batches import MAX_BATCH_RECORDS
from penstock.connectors.collection import CollectionSource
from penstock.connectors.dataframe import ArrowTableSource
from penstock.connectors.live_source import LiveSource
from penstock.connectors.source import EnumeratorContext, EpochBudget
from penstock.testing.memory_sink import MemorySink
from pipelined.list_source import ListSource, timed, two_splits
from pipelined.local_pipelined import environment

BUDGET = EpochBudget(5, 5, 1)
COUNT = MAX_BATCH_RECORDS + 1


def sources() -> list[LiveSource]:
    numbers = list(range(COUNT))
    return [CollectionSource(numbers, Types.LONG()), ArrowTableSource(pa.table({"n": numbers}))]


def value(record: object) -> int:
    return record if isinstance(record, int) else record[0]  # pyright: ignore[reportIndexIssue]


@pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
def test_an_epoch_goes_on_where_the_last_one_ended(source: LiveSource) -> None:
    state: dict[str, object] = {}
    context = EnumeratorContext(state, 1, bounded=False)
    reader, read = source.create_live_reader(), []
    epochs = 0
    while orders := source.create_live_enumerator(context).poll(0, BUDGET):
        reader.follow(orders)
        ((place, batch),) = reader.poll(0)
        assert isinstance(batch, Batch)
        read += map(value, batch.values)
        assert reader.finished(place) is (len(read) == COUNT)
        source.create_live_enumerator(context).advanced("0", reader.position(place), reader.finished(place))
        epochs += 1
    assert read == list(range(COUNT))
    assert epochs > 1
    assert source.create_live_enumerator(context).is_exhausted()
    assert source.create_enumerator(context).is_exhausted(), "in epochs there is nothing left either"


@pytest.mark.usefixtures("virtual_time")
def test_a_collection_and_a_stream_that_goes_on() -> None:
    env = environment("pipelined")
    pairs = env.from_source(two_splits(), None, "pairs").map(lambda pair: pair[1], Types.LONG())
    found = Counter(pairs.union(env.from_collection([7, 8, 9], Types.LONG())).execute_and_collect())
    assert found == Counter([*range(12), *range(100, 112), 7, 8, 9])


@pytest.mark.usefixtures("virtual_time")
def test_the_end_of_a_table_is_told_when_the_epoch_begins_behind_the_one_that_has_read_it() -> None:
    env = environment("pipelined").set_parallelism(1)
    record = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
    orders = ListSource(timed([Row(key, n) for n, key in enumerate("abab")]), record_type=record, per_epoch=2)
    table = pa.table({"k": ["a", "b"]})
    joined = env.from_source(orders, None, "orders").lookup_join(table, on="k", distribution="keyed")
    sink = MemorySink()
    joined.apply(lambda order, row: order[1]).sink_to(sink)
    env.execute("joined")
    ((*waited, third, fourth),) = filter(None, sink.epochs.values())
    assert sorted(waited) == [0, 1]
    assert [third, fourth] == [2, 3], "they do not wait, and do not come with those of their key that have"
