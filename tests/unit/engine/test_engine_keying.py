import math

import pyarrow as pa
import pytest

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import Types
from penstock.engine.stages.keying import RecordFailure, keys_of
from penstock.plan.nodes import Exchange, ExchangeKind
from penstock.state.key_encoding import encode_key


def keys(batch: Batch, exchange: Exchange) -> list[bytes]:
    found = keys_of(batch, exchange)
    return [found.distinct[code] for code in found.codes.tolist()]


@pytest.mark.parametrize(
    ("key_type", "values"),
    [
        (Types.LONG(), [3, 1, 3, None]),
        (Types.STRING(), ["b", "a", "b", None]),
        (Types.DOUBLE(), [0.5, -0.0, 0.0, float("nan")]),
        (Types.BOOLEAN(), [True, False, True, None]),
        (Types.FLOAT(), [0.1, 0.5, 0.1, None]),
        (Types.BIG_INT(), [1 << 80, 1, 1 << 80, None]),
    ],
    ids=str,
)
def test_columns_and_values_of_one_stream_have_the_same_keys(key_type, values):
    record_type = Types.ROW_NAMED(["k"], [key_type])
    codec = codec_for(record_type)
    exchange = Exchange(ExchangeKind.HASH, lambda row: row[0], key_fields=("k",), key_type=key_type)
    columns = codec.to_columns([(value,) for value in values])
    by_column = keys(Batch(codec, columns=columns), exchange)
    by_value = keys(Batch(codec, values=[(value,) for value in values]), exchange)
    assert by_column == by_value
    assert by_column[0] == by_column[2] or key_type == Types.DOUBLE()


@pytest.mark.parametrize(
    ("types", "rows"),
    [
        ([Types.LONG(), Types.LONG()], [(3, 1), (1, 3), (3, 1)]),
        ([Types.LONG(), Types.STRING()], [(3, "a"), (None, "a"), (3, "a")]),
        ([Types.LONG(), Types.DOUBLE()], [(3, 0.0), (3, -0.0), (3, 0.0)]),
    ],
    ids=str,
)
def test_keys_of_several_fields_are_the_same_from_columns_and_values(types, rows):
    codec = codec_for(Types.ROW_NAMED(["x", "a", "b"], [Types.STRING(), *types]))
    exchange = Exchange(
        ExchangeKind.HASH, lambda row: (row[1], row[2]), key_fields=("a", "b"), key_type=Types.TUPLE(types)
    )
    records = [("x", *row) for row in rows]
    by_column = keys(Batch(codec, columns=codec.to_columns(records)), exchange)
    assert by_column == keys(Batch(codec, values=records), exchange) == [encode_key(row) for row in rows]


def test_columns_of_several_fields_are_used_as_they_are():
    codec = codec_for(Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]))

    def forbidden(value: object) -> object:
        raise AssertionError("the selector is not called where the columns are at hand")

    key_type = Types.TUPLE([Types.LONG(), Types.STRING()])
    exchange = Exchange(ExchangeKind.HASH, forbidden, key_fields=("a", "b"), key_type=key_type)
    batch = Batch(codec, columns=[pa.array([1]), pa.array(["x"])])
    assert keys(batch, exchange) == [encode_key((1, "x"))]


def test_floats_that_are_one_key_are_one_in_the_dictionary():
    codec = codec_for(Types.ROW_NAMED(["k"], [Types.DOUBLE()]))
    exchange = Exchange(ExchangeKind.HASH, lambda row: row[0], key_fields=("k",), key_type=Types.DOUBLE())
    columns = codec.to_columns([(value,) for value in (0.0, 1.5, -0.0, math.nan, -math.nan, 0.0)])
    found = keys_of(Batch(codec, columns=columns), exchange)
    assert found.distinct == [encode_key(0.0), encode_key(1.5), encode_key(math.nan)]
    assert found.codes.tolist() == [0, 1, 0, 2, 2, 0]
    assert found.first_rows().tolist() == [0, 1, 3]


def test_an_int_in_a_double_field_is_the_key_of_that_double():
    codec = codec_for(Types.ROW_NAMED(["k"], [Types.DOUBLE()]))
    exchange = Exchange(ExchangeKind.HASH, lambda row: row[0], key_fields=("k",), key_type=Types.DOUBLE())
    assert keys(Batch(codec, values=[(1,), (1.0,)]), exchange) == [encode_key(1.0)] * 2


def test_without_a_type_one_and_true_are_different_keys():
    exchange = Exchange(ExchangeKind.HASH, lambda value: value)
    found = keys(Batch(codec_for(None), values=[1, True, 1.0, 1]), exchange)
    assert found == [encode_key(1), encode_key(True), encode_key(1.0), encode_key(1)]
    assert len(set(found)) == 3


def test_the_record_that_a_selector_fails_on_is_named():
    exchange = Exchange(ExchangeKind.HASH, lambda value: 1 / value)
    with pytest.raises(RecordFailure) as failure:
        keys_of(Batch(codec_for(None), values=[1, 2, 0, 3]), exchange)
    assert failure.value.record == 0
    assert isinstance(failure.value.__cause__, ZeroDivisionError)


def test_the_record_whose_key_cannot_be_encoded_is_named():
    exchange = Exchange(ExchangeKind.HASH, lambda value: value)
    with pytest.raises(RecordFailure) as failure:
        keys_of(Batch(codec_for(None), values=["a", {"un": "hashable"}]), exchange)
    assert failure.value.record == {"un": "hashable"}


def test_the_record_whose_key_is_not_of_the_declared_type_is_named():
    exchange = Exchange(ExchangeKind.HASH, lambda value: value[0], key_type=Types.LONG())
    with pytest.raises(RecordFailure) as failure:
        keys_of(Batch(codec_for(None), values=[(1,), ("text",)]), exchange)
    assert failure.value.record == ("text",)


def test_columns_are_used_as_they_are():
    codec = codec_for(Types.ROW_NAMED(["k"], [Types.LONG()]))

    def forbidden(value: object) -> object:
        raise AssertionError("the selector is not called where the column is at hand")

    exchange = Exchange(ExchangeKind.HASH, forbidden, key_fields=("k",), key_type=Types.LONG())
    assert keys(Batch(codec, columns=[pa.array([7])]), exchange) == [encode_key(7)]
