"""Expressions in programs: types, plans, keys, and what is refused at the user's line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ArgumentError, PlanError
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.engine.stages.keying import keys_of
from penstock.expressions import col, row, this
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import Exchange, SourceNode

PAYMENT = Types.ROW_NAMED(["user", "price", "n"], [Types.STRING(), Types.DOUBLE(), Types.INT()])
PAYMENTS = [
    Row(user="ann", price=1.0, n=1),
    Row(user="bob", price=20.0, n=None),
    Row(user=None, price=30.0, n=3),
    Row(user="ann", price=-0.0, n=-3),
]


@dataclass
class Sale:
    price: float
    user: str


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def payments(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(PAYMENTS, PAYMENT)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda s: s.map(col("price") * 0.9), "Double"),
        (lambda s: s.map(col("price"), output_type=Types.FLOAT()), "Float"),
        (lambda s: s.map((col("user"), col("n") + 1, "x")), "TupleTypeInfo(String, Long, String)"),
        (lambda s: s.map(row(col("user"), n=1)), "RowTypeInfo(user: String, n: Long)"),
        (lambda s: s.map(row(col("user"), col("price")), Sale), "DataclassTypeInfo<Sale>(price: Double, user: String)"),
        (
            lambda s: s.select("n", col("user").alias("who"), x=col("price") > 1),
            "RowTypeInfo(n: Integer, who: String, x: Boolean)",
        ),
        (lambda s: s.filter(col("price") > 1), "RowTypeInfo(user: String, price: Double, n: Integer)"),
        (lambda s: s.key_by("user").map(col("price")), "Double"),
        (lambda s: s.key_by("user").filter(col("price") > 1), "RowTypeInfo(user: String, price: Double, n: Integer)"),
        (lambda s: s.key_by("user").select("price"), "RowTypeInfo(price: Double)"),
    ],
)
def test_the_type_of_the_stream_follows(payments: DataStream, build: Any, expected: str) -> None:
    assert repr(build(payments).get_type()) == expected


def test_the_plan_shows_the_expression(env: StreamExecutionEnvironment, payments: DataStream) -> None:
    payments.filter(col("price") > 10).uid("dear").key_by(col("user").upper()).map(row(half=col("price") / 2)).print()
    text = str(env.explain())
    assert "Filter 'Filter' | col(\"price\") > 10 | type RowTypeInfo" in text
    assert '=> hash(col("user").upper())' in text
    assert "Map 'Map' | row(half=col(\"price\") / 2) | type RowTypeInfo(half: Double)" in text


def test_an_expression_in_the_place_of_a_function_keeps_the_uid(env: StreamExecutionEnvironment) -> None:
    def uids(build: Any) -> list[str]:
        other = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        build(other.from_collection([1, 2])).print()
        return [node.uid for node in other.get_plan().nodes]

    assert uids(lambda s: s.map(lambda n: n + 1, int).filter(lambda n: n > 1)) == uids(
        lambda s: s.map(this() + 1).filter(this() > 1)
    )


def exchange_of(stream: Any) -> Exchange:
    return stream.upstreams[0].exchange


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        (col("user"), ("user",)),
        (col(0), ("user",)),
        ([col("user"), "n"], ("user", "n")),
        ((col("user"), col("n")), ("user", "n")),
    ],
)
def test_plain_fields_are_keys_as_ever(payments: DataStream, key: Any, fields: tuple[str, ...]) -> None:
    names = fields[0] if len(fields) == 1 else list(fields)
    assert exchange_of(payments.key_by(key)).key_fields == exchange_of(payments.key_by(names)).key_fields == fields


@pytest.mark.parametrize(
    ("expression", "function", "key_type"),
    [
        (col("user").upper(), lambda r: r.user and r.user.upper(), Types.STRING()),
        (col("n") % 2, lambda r: None if r.n is None else r.n % 2, Types.LONG()),
        (col("price") * 2, lambda r: r.price * 2, Types.DOUBLE()),
        ((col("price") * 2).cast(Types.FLOAT()), lambda r: r.price * 2, Types.FLOAT()),
        (col("price") > 5, lambda r: r.price > 5, Types.BOOLEAN()),
        (
            ["user", col("n") + 1],
            lambda r: (r.user, None if r.n is None else r.n + 1),
            Types.TUPLE([Types.STRING(), Types.LONG()]),
        ),
        (row(col("user"), x=col("price")), lambda r: Row(user=r.user, x=r.price), None),
    ],
)
@pytest.mark.parametrize("as_columns", [True, False])
def test_a_computed_key_is_encoded_as_that_of_a_function(
    payments: DataStream, expression: Any, function: Any, key_type: Any, as_columns: bool
) -> None:
    codec = codec_for(PAYMENT)
    computed = exchange_of(payments.key_by(expression))
    called = exchange_of(payments.key_by(function, key_type))

    def keys(exchange: Exchange) -> list[bytes]:
        batch = Batch(codec, columns=codec.to_columns(PAYMENTS)) if as_columns else Batch(codec, values=list(PAYMENTS))
        found = keys_of(batch, exchange)
        return [found.distinct[code] for code in found.codes]

    assert keys(computed) == keys(called)


def test_a_declared_key_type_is_kept(payments: DataStream) -> None:
    assert exchange_of(payments.key_by(col("n") + 1, Types.DOUBLE())).key_type == Types.DOUBLE()
    with pytest.raises(PlanError, match=r"key_by: .* the declared type is Long"):
        payments.key_by(col("user").upper(), Types.LONG())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.map(col("prize")), "map: `col(\"prize\")`: there is no field 'prize'; there are user, price, n"),
        (lambda s: s.select("prize"), "select: `col(\"prize\")`: there is no field 'prize'"),
        (lambda s: s.filter(col("user")), 'filter: `col("user")` is String; expected a condition'),
        (lambda s: s.key_by(col("user") + 1), 'key_by: `col("user") + 1` needs texts on both sides'),
        (lambda s: s.map(lambda r: r).map(col("user")), 'map: `col("user")` needs records of a declared type'),
        (lambda s: s.map(lambda r: r).filter(col("user")), 'filter: `col("user")` needs records of a declared type'),
        (lambda s: s.map(lambda r: r).key_by(col("n") + 1), 'key_by: `col("n") + 1` needs records of a declared type'),
        (lambda s: s.map(col("price"), output_type=Types.INT()), "gives Double, and the declared type is Integer"),
    ],
)
def test_what_does_not_fit_is_refused_at_the_users_line(payments: DataStream, build: Any, message: str) -> None:
    with pytest.raises(PlanError) as refusal:
        build(payments)
    assert message in str(refusal.value)
    assert f"at {__file__}:" in str(refusal.value)


def test_expressions_are_not_taken_where_they_mean_nothing(payments: DataStream) -> None:
    for build in (payments.process, payments.key_by("user").reduce, payments.add_sink):
        with pytest.raises(ArgumentError, match=r'`.*` is col\("user"\) \(Expression\)'):
            build(col("user"))
    with pytest.raises(ArgumentError, match="value 0 of the row, `17`, has no name"):
        payments.select(17)  # type: ignore[arg-type]


def test_a_plain_field_is_what_is_aggregated(env: StreamExecutionEnvironment) -> None:
    pairs = env.from_collection(
        [Row(k="a", n=2), Row(k="a", n=5)], Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
    )
    keyed, windows = pairs.key_by("k"), pairs.key_by("k").count_window(2)
    assert list(keyed.sum(col("n")).execute_and_collect()) == [Row(k="a", n=2), Row(k="a", n=7)]
    assert list(windows.max_by(col("n")).execute_and_collect()) == [Row(k="a", n=5)]
    for refused in (keyed.sum, windows.sum):
        with pytest.raises(ArgumentError, match="one that is computed is made before, by `select` or `map`"):
            refused(col("n") * 2)


def test_values_of_no_declared_type_go_through_rows_only(env: StreamExecutionEnvironment) -> None:
    mixed = env.from_collection([(1, object())], Types.TUPLE([Types.LONG(), Types.PICKLED_BYTE_ARRAY()]))
    with pytest.raises(PlanError, match="of no declared type"):
        mixed.map(col("f1"))
    assert repr(mixed.select("f1").get_type()) == "RowTypeInfo(f1: PickledByteArrayTypeInfo)"


def test_nodes_with_expressions_can_be_compared(env: StreamExecutionEnvironment, payments: DataStream) -> None:
    payments.map(col("price")).print()
    first, second = env.get_plan(), env.get_plan()
    mapped = [node for node in first.nodes if isinstance(node, ExpressionNode)]
    assert mapped == [node for node in second.nodes if isinstance(node, ExpressionNode)]
    assert not any(isinstance(node, SourceNode) for node in mapped)
