"""Keys, timestamps and methods of objects that are traced."""

from __future__ import annotations

from typing import Any

import cloudpickle
import numpy as np
import pytest

from penstock.common import Row, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.timestamp_assigner import FunctionTimestampAssigner, TimestampAssigner
from penstock.common.watermark_generator import MIN_TIMESTAMP
from penstock.engine.stages.keying import RecordFailure, keys_of
from penstock.functions import FilterFunction, KeySelector, MapFunction, RuntimeContext
from penstock.plan.nodes import Exchange, ExchangeKind
from penstock.tracing import NotTraceable, TracedKey, TracedTimestampAssigner, trace_filter, trace_map
from unit.tracing.traced_twins import kept, mapped

RECORD = Types.ROW_NAMED(["card", "n", "x"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
RECORDS = [
    Row(card="visa", n=3, x=0.0),
    Row(card="Amex", n=-3, x=-0.0),
    Row(card="visa", n=3, x=float("nan")),
    Row(card="élan", n=1 << 40, x=1.5),
]


def columnar(records: list[Row] = RECORDS, **others: Any) -> Batch:
    return Batch(codec_for(RECORD), columns=codec_for(RECORD).to_columns(records), **others)


def keys(selector: Any, batch: Batch, key_type: Any = None) -> list[bytes]:
    return keys_of(batch, Exchange(ExchangeKind.HASH, key_selector=selector, key_type=key_type)).to_list()


@pytest.mark.parametrize(
    ("function", "key_type"),
    [
        (lambda r: r.card, None),
        (lambda r: r.card, Types.STRING()),
        (lambda r: r.n, None),
        (lambda r: r["n"], Types.INT()),
        (lambda r: r.x, None),
        (lambda r: r.n > 0, None),
        (lambda r: (r.card, r.n % 2), None),
        (lambda r: (r.card.upper(), r.n), Types.TUPLE([Types.STRING(), Types.LONG()])),
        (lambda r: f"{r.card}-{r.n}", None),
        (lambda r: "all", None),
        (lambda r: None if r.n < 0 else r.card, None),
        (lambda r: (1, None), None),
    ],
)
def test_keys_are_those_of_the_function(function: Any, key_type: Any) -> None:
    traced = TracedKey(function, RECORD, key_type)
    records = RECORDS[:3] if key_type == Types.INT() else RECORDS
    if key_type is not None or not isinstance(function(RECORDS[0]), float):
        assert traced.columns(columnar(records)) is not None
    assert keys(traced, columnar(records), key_type) == keys(function, columnar(records), key_type)
    shipped = cloudpickle.loads(cloudpickle.dumps(traced))
    assert keys(shipped, columnar(records), key_type) == keys(function, columnar(records), key_type)


def test_keys_of_records_that_are_values_are_the_functions_own() -> None:
    traced = TracedKey(lambda r: r.x, RECORD, None)
    values = Batch(codec_for(RECORD), values=[Row(card="a", n=1, x=1)])
    assert traced.columns(values) is None
    assert keys(traced, values) == keys(lambda r: 1, values)


def test_a_key_that_fails_names_the_record() -> None:
    batch = columnar([*RECORDS, Row(card=None, n=1, x=1.0)])
    with pytest.raises(RecordFailure) as failure:
        keys(TracedKey(lambda r: r.card.upper(), RECORD, None), batch)
    assert failure.value.record == Row(card=None, n=1, x=1.0)


class ByCard(KeySelector):
    def get_key(self, value: Any) -> str:
        return value.card


def test_key_selectors_are_traced() -> None:
    assert keys(TracedKey(ByCard().get_key, RECORD, None), columnar()) == keys(lambda r: r.card, columnar())


class AtN(TimestampAssigner):
    def __init__(self, offset: int) -> None:
        self.offset = offset

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.n + self.offset


def test_timestamps() -> None:
    traced = TracedTimestampAssigner(AtN(10), RECORD)
    stamps = cloudpickle.loads(cloudpickle.dumps(traced)).timestamps(columnar())
    assert stamps.to_pylist() == [13, 7, 13, (1 << 40) + 10]
    assert traced.extract_timestamp(RECORDS[0], 0) == 13
    later = TracedTimestampAssigner(
        FunctionTimestampAssigner(lambda r, before: before + 1 if before > 0 else r.n), RECORD
    )
    stamps = later.timestamps(columnar(timestamps=[5, None, 0, 8]))
    assert stamps is not None
    assert stamps.to_pylist() == [6, -3, 3, 9]
    assert later.timestamps(columnar()).to_pylist() == [record.n for record in RECORDS]


def test_timestamps_that_are_none_are_left_to_the_assigner() -> None:
    for function in (lambda r, t: None if r.n < 0 else r.n, lambda r, t: t, lambda r, t: r.n // 0, lambda r, t: r.x):
        assert TracedTimestampAssigner(FunctionTimestampAssigner(function), RECORD).timestamps(columnar()) is None
    assert MIN_TIMESTAMP < 0


class Scaled(MapFunction):
    FACTOR = 2

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def map(self, value: Any) -> int:
        return self.scaled(value.n) + self.offset

    def scaled(self, n: int) -> int:
        return n * self.FACTOR


class Opened(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.rate = 2

    def map(self, value: Any) -> int:
        return value.n


class Positive(FilterFunction):
    def filter(self, value: Any) -> bool:
        return value.n > 0


class Measured(MapFunction):
    @property
    def rate(self) -> int:
        return 2

    def map(self, value: Any) -> int:
        return value.n * self.rate


class Counting(MapFunction):
    count = 0

    def map(self, value: Any) -> int:
        self.count += 1
        return self.count


class Halves(MapFunction):
    @staticmethod
    def map(value: Any, parts: int = 2) -> int:  # type: ignore[override]
        return parts


def test_methods_of_function_objects() -> None:
    assert mapped(Scaled(1), RECORD, Types.LONG(), RECORDS[:2]) == [7, -5]
    assert kept(Positive(), RECORD, RECORDS[:2]) == [True, False]
    for untraced in (Opened(), Measured(), Counting(), Halves()):
        with pytest.raises(NotTraceable):
            trace_map(untraced, RECORD, Types.LONG())
    function = Scaled(1)
    program = trace_map(function, RECORD, Types.LONG())
    columns = columnar().columns
    assert program.columns(columns, 4)[0].to_pylist()[0] == 7
    function.offset = 2
    with pytest.raises(Exception):  # noqa: B017, PT011  the function itself is asked
        program.columns(columns, 4)


def test_results_without_a_declared_type_have_the_type_of_their_values() -> None:
    assert trace_map(lambda r: (r.card, r.n / 2), RECORD, None).type == Types.TUPLE([Types.STRING(), Types.DOUBLE()])
    assert trace_map(lambda r: r, RECORD, Types.PICKLED_BYTE_ARRAY()).type is RECORD
    assert trace_map(lambda r: r.n if r.n else None, RECORD, None).type == Types.LONG()
    named = trace_map(lambda r: Row(a=r.n, b=(r.card, None)), RECORD, None)
    assert repr(named.type) == "RowTypeInfo(a: Long, b: TupleTypeInfo(String, String))"
    for function in (lambda r: r.n or r.x, lambda r: None, lambda r: Row(r.n), lambda r: (), lambda r: frozenset({1})):
        with pytest.raises(NotTraceable):
            trace_map(function, RECORD, None)


def test_conditions_on_numbers_of_numpy_stay_python() -> None:
    limit = np.int64(3)
    with pytest.raises(NotTraceable, match="what it captures must be a constant"):
        trace_filter(lambda r: r.n > limit, RECORD)
