"""Functions of keyed batches: when they are called, with what, and that restarts change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import UserFunctionError
from penstock.functions.batches import BatchFormat, KeyedBatchContext
from penstock.runtime.keyed_batches import KeyedBatchOperator
from penstock.runtime.operator import OperatorContext
from penstock.state import ListStateDescriptor, ValueStateDescriptor
from penstock.state.key_encoding import encode_key
from unit.runtime.operator_harness import Harness

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
STRING = Types.STRING()
SUM = ValueStateDescriptor("sum", Types.LONG())


def sums(batch: dict[str, Any], ctx: KeyedBatchContext) -> dict[str, Any]:
    """The sum so far of every key in the batch."""
    state = ctx.get_state(SUM)
    added = np.bincount(ctx.key_codes, weights=batch["f1"]).astype(np.int64)
    total = state.get_many(ctx.distinct_keys).fill_null(0).to_numpy() + added
    state.put_many(ctx.distinct_keys, total)
    return {"f0": ctx.distinct_keys, "f1": total}


SMALL = st.integers(0, 99)


class Driven(Harness):
    """The whole of the key groups is this subtask's."""

    def __init__(self, function: Any, *, key_type: Any = STRING, timestamp_column: str | None = None) -> None:
        def operator() -> KeyedBatchOperator:
            return KeyedBatchOperator(function, BatchFormat.NUMPY, PAIR, PAIR, timestamp_column, key_type)

        self._function = function
        super().__init__(lambda: _Alone(operator()))

    def send(self, *pairs: tuple[str, int], timestamps: list[int | None] | None = None) -> None:
        keys = [encode_key(pair[0]) for pair in pairs]
        self.operator.process(Batch(codec_for(PAIR), values=list(pairs), timestamps=timestamps, keys=keys), 0)


def _Alone(operator: KeyedBatchOperator) -> KeyedBatchOperator:  # noqa: N802
    opened = operator.open

    def open_alone(context: OperatorContext) -> None:
        context.subtask, context.parallelism = 0, 1
        opened(context)

    operator.open = open_alone  # type: ignore[method-assign]
    return operator


def test_all_records_up_to_the_end_of_the_epoch_are_one_batch() -> None:
    harness = Driven(sums)
    harness.send(("a", 1), ("b", 2))
    harness.send(("c", 3), ("a", 4))
    assert harness.values() == []
    harness.end_epoch()
    assert harness.values() == [("a", 5), ("b", 2), ("c", 3)]
    harness.send(("b", 10))
    harness.restart()
    harness.send(("a", 1))
    harness.end_epoch()
    assert harness.values() == [("b", 12), ("a", 6)]


def test_a_batch_ends_where_event_time_moves_on() -> None:
    harness = Driven(lambda batch, ctx: batch)
    harness.send(("a", 1), timestamps=[5])
    harness.operator.advance_watermark(7)
    assert harness.taken() == [(("a", 1), 5)]
    harness.send(("a", 2), timestamps=[9])
    harness.operator.inputs_fall_idle()
    assert harness.taken() == [(("a", 2), 9)]


def test_what_the_context_tells() -> None:
    seen: list[Any] = []

    def look(batch: dict[str, Any], ctx: KeyedBatchContext) -> None:
        times = ctx.timestamps
        seen.append(
            (
                list(map(str, ctx.keys)),
                list(map(str, ctx.distinct_keys)),
                ctx.key_codes.tolist(),
                None if times is None else times.to_pylist(),
                ctx.current_watermark(),
                ctx.current_processing_time(),
            )
        )

    harness = Driven(look)
    harness.operator.advance_watermark(3)
    harness.send(("b", 1), timestamps=[4])
    harness.send(("a", 1), ("b", 1))
    harness.end_epoch()
    harness.send(("z", 1))
    harness.end_epoch()
    assert seen == [
        (["b", "a", "b"], ["b", "a"], [0, 1, 0], [4, None, None], 3, 1_000),
        (["z"], ["z"], [0], None, 3, 1_000),
    ]


def test_keys_of_no_declared_type_are_a_list() -> None:
    def numbered(batch: dict[str, Any], ctx: KeyedBatchContext) -> dict[str, Any]:
        ctx.get_state(SUM).put_many(ctx.keys, batch["f1"])
        assert isinstance(ctx.distinct_keys, list)
        return {"f0": ctx.distinct_keys, "f1": ctx.get_state(SUM).get_many(ctx.distinct_keys)}

    harness = Driven(numbered, key_type=None)
    harness.send(("a", 1), ("b", 2), ("a", 3))
    harness.end_epoch()
    assert harness.values() == [("a", 3), ("b", 2)]


def test_a_list_of_keys_may_be_sorted() -> None:
    def from_the_last(batch: dict[str, Any], ctx: KeyedBatchContext) -> dict[str, Any]:
        state, distinct = ctx.get_state(SUM), ctx.distinct_keys
        assert isinstance(distinct, list)
        distinct.sort(reverse=True)
        state.put_many(ctx.keys, batch["f1"])
        return {"f0": distinct, "f1": state.get_many(distinct)}

    harness = Driven(from_the_last, key_type=None)
    harness.send(("a", 1), ("b", 2), ("c", 3))
    harness.end_epoch()
    assert harness.values() == [("c", 3), ("b", 2), ("a", 1)]


def test_state_of_a_list_of_keys_that_was_turned_round() -> None:
    def turned(batch: dict[str, Any], ctx: KeyedBatchContext) -> dict[str, Any]:
        state, keys = ctx.get_state(SUM), ctx.keys
        assert isinstance(keys, list)
        keys.reverse()
        state.put_many(keys, batch["f1"][::-1])
        return {"f0": keys, "f1": state.get_many(keys)}

    harness = Driven(turned, key_type=None)
    harness.send(("a", 1), ("b", 2), ("b", 3))
    harness.end_epoch()
    assert harness.values() == [("b", 2), ("b", 2), ("a", 1)]


def test_the_codes_of_keys_cannot_be_written_to() -> None:
    def changing(batch: dict[str, Any], ctx: KeyedBatchContext) -> None:
        ctx.key_codes[0] = 1

    harness = Driven(changing)
    harness.send(("a", 1), ("b", 2))
    with pytest.raises(UserFunctionError, match="read-only"):
        harness.end_epoch()


class Opened:
    """Asks for its state when it is opened."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))
        assert runtime_context.get_index_of_this_subtask() == 0

    def __call__(self, batch: dict[str, Any], ctx: KeyedBatchContext) -> dict[str, Any]:
        is_new = self.seen.get_many(batch["f0"]).is_null().to_numpy(zero_copy_only=False)
        self.seen.put_many(batch["f0"], np.full(len(is_new), True))
        return {name: column[is_new] for name, column in batch.items()}


def test_an_object_asks_for_state_when_it_is_opened() -> None:
    harness = Driven(Opened())
    harness.send(("a", 1), ("b", 2))
    harness.restart()
    harness.send(("b", 3), ("c", 4))
    harness.end_epoch()
    assert harness.values() == [("a", 1), ("b", 2), ("c", 4)]
    assert [name for name, _ in harness.operator._state._handles.items()] == ["seen"]  # type: ignore[attr-defined]


def test_other_kinds_of_state_are_refused() -> None:
    class Wrong:
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_list_state(ListStateDescriptor("l", Types.LONG()))

        def __call__(self, batch: Any, ctx: Any) -> Any:
            return batch

    with pytest.raises(UserFunctionError, match="state of one value per key only"):
        Driven(Wrong())


def test_records_of_a_failed_epoch_are_forgotten() -> None:
    harness = Driven(sums)
    harness.send(("a", 1))
    harness.operator.drop_caches()
    harness.end_epoch()
    assert harness.values() == []


def test_a_failure_is_reported_with_the_operator() -> None:
    harness = Driven(lambda batch, ctx: {"f0": batch["f0"]})
    harness.send(("a", 1))
    with pytest.raises(UserFunctionError, match="has no column 'f1'") as failure:
        harness.end_epoch()
    assert failure.value.report.operator == "Sessions"


def test_a_failure_is_reported_with_the_batch() -> None:
    harness = Driven(lambda batch, ctx: 1 // 0)
    harness.send(("a", 1), ("b", 2))
    harness.send(("c", 3))
    with pytest.raises(UserFunctionError, match="ZeroDivisionError") as failure:
        harness.end_epoch()
    assert failure.value.report.record == "one of 3, from ('a', 1) to ('c', 3)"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(
        st.lists(st.tuples(st.sampled_from("abcd"), SMALL), max_size=3) | st.sampled_from(("end", "restart")),
        max_size=12,
    )
)
def test_sums_are_the_same_however_records_are_cut(steps: list[Any]) -> None:
    harness = Driven(sums)
    expected: dict[str, int] = {}
    for step in [*steps, "end"]:
        if step == "end":
            harness.end_epoch()
        elif step == "restart":
            harness.restart()
        elif step:
            harness.send(*step)
            for key, number in step:
                expected[key] = expected.get(key, 0) + number
    assert dict(harness.values()) == expected


def test_arrow_batches_have_the_columns_of_the_records() -> None:
    batches: list[pa.RecordBatch] = []
    operator = KeyedBatchOperator(lambda batch, ctx: batches.append(batch), BatchFormat.ARROW, PAIR, PAIR, None, None)
    harness = Harness(lambda: operator)
    harness.operator.process(Batch(codec_for(PAIR), values=[("a", 1)], keys=[encode_key("a")]), 0)
    harness.operator.end_epoch()
    assert batches[0].to_pydict() == {"f0": ["a"], "f1": [1]}
