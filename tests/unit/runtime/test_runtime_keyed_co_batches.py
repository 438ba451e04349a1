"""Functions of batches of two keyed streams: order, shared state, restarts, and keys of several fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.common import Configuration, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import PlanError, UserFunctionError
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedBatchContext, KeyedCoBatchFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.functions.batches import BatchFormat
from penstock.runtime.keyed_co_batches import KeyedCoBatchOperator
from penstock.state.key_encoding import encode_key
from unit.runtime.operator_harness import Harness

STRING, LONG = Types.STRING(), Types.LONG()
NAME, AGE = Types.TUPLE([STRING, STRING]), Types.TUPLE([STRING, LONG])
NAMED = Types.TUPLE([STRING, LONG])


class Named(KeyedCoBatchFunction):
    """Ages with the names of their keys."""

    def open(self, runtime_context: Any) -> None:
        self._names = runtime_context.get_state(ValueStateDescriptor("name", STRING))

    def process_batch1(self, batch: pa.RecordBatch, ctx: KeyedBatchContext) -> None:
        self._names.put_many(ctx.keys, batch["f1"])

    def process_batch2(self, batch: pa.RecordBatch, ctx: KeyedBatchContext) -> pa.RecordBatch:
        return pa.record_batch({"f0": self._names.get_many(ctx.keys), "f1": batch["f1"]})


class Driven(Harness):
    def __init__(self, function: KeyedCoBatchFunction) -> None:
        super().__init__(lambda: KeyedCoBatchOperator(function, BatchFormat.ARROW, (NAME, AGE), NAMED, None, STRING))

    def send(self, input_index: int, *pairs: tuple[str, Any]) -> None:
        keys = [encode_key(pair[0]) for pair in pairs]
        record_type = (NAME, AGE)[input_index]
        self.operator.process(Batch(codec_for(record_type), values=list(pairs), keys=keys), input_index)


def test_the_first_stream_comes_first() -> None:
    harness = Driven(Named())
    harness.send(1, ("a", 7), ("b", 8))
    harness.send(0, ("a", "Ann"))
    harness.send(1, ("a", 9))
    assert harness.values() == []
    harness.end_epoch()
    assert harness.values() == [("Ann", 7), (None, 8), ("Ann", 9)]


def test_state_is_there_after_a_restart_and_what_waited_is_not() -> None:
    harness = Driven(Named())
    harness.send(0, ("a", "Ann"))
    harness.end_epoch()
    harness.send(0, ("a", "never"))
    harness.operator.drop_caches()
    harness.restart()
    harness.send(1, ("a", 1))
    harness.end_epoch()
    assert harness.values() == [("Ann", 1)]


class Failing(Named):
    def process_batch2(self, batch: pa.RecordBatch, ctx: KeyedBatchContext) -> pa.RecordBatch:
        raise ValueError("no ages")


def test_what_a_function_raises_is_reported() -> None:
    harness = Driven(Failing())
    harness.send(1, ("a", 7))
    with pytest.raises(UserFunctionError, match="no ages"):
        harness.end_epoch()


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.engine", "local")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


class Matched(KeyedCoBatchFunction):
    """Each key of the second stream that the first has had, with its number of records there."""

    def open(self, runtime_context: Any) -> None:
        self._counts = runtime_context.get_state(ValueStateDescriptor("count", LONG))

    def process_batch1(self, batch: pa.RecordBatch, ctx: KeyedBatchContext) -> None:
        before = self._counts.get_many(ctx.distinct_keys).fill_null(0).to_numpy()
        self._counts.put_many(ctx.distinct_keys, before + np.bincount(ctx.key_codes))

    def process_batch2(self, batch: pa.RecordBatch, ctx: KeyedBatchContext) -> pa.RecordBatch:
        counts = self._counts.get_many(ctx.distinct_keys).fill_null(0)
        assert isinstance(ctx.distinct_keys, pa.StructArray)
        first, second = ctx.distinct_keys.flatten()
        return pa.record_batch({"f0": first, "f1": second, "f2": counts})


def test_keys_of_several_fields_meet(env: StreamExecutionEnvironment) -> None:
    pairs = Types.TUPLE([LONG, STRING])
    left = env.from_collection([(1, "a"), (1, "b"), (1, "a"), (2, "a")], pairs)
    right = env.from_collection([("a", 1), ("a", 3), ("b", 1)], Types.TUPLE([STRING, LONG]))
    connected = left.connect(right).key_by([0, 1], [1, 0])
    found = connected.process_batches(Matched(), Types.TUPLE([LONG, STRING, LONG]))
    assert sorted(found.execute_and_collect()) == [(1, "a", 2), (1, "b", 1), (3, "a", 0)]


def test_what_cannot_be_is_refused(env: StreamExecutionEnvironment) -> None:
    numbers, texts = env.from_collection([(1, 2)], Types.TUPLE([LONG, LONG])), env.from_collection([("a", 1)])
    with pytest.raises(PlanError, match="the keys have different types"):
        numbers.connect(texts).key_by(0, 0).process_batches(Named(), NAMED)
    with pytest.raises(PlanError, match="is not keyed"):
        numbers.connect(texts).process_batches(Named(), NAMED)
    with pytest.raises(Exception, match="a KeyedCoBatchFunction"):
        numbers.connect(numbers).key_by(0, 0).process_batches(lambda batch: batch, NAMED)  # type: ignore[arg-type]
