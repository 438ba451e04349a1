from __future__ import annotations

import pytest

from penstock.common.errors import ArgumentError, ConfigurationError, PenstockError, PlanError, UnsupportedError
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import DataTypes, Schema, StreamTableEnvironment, TableDescriptor
from penstock.table.generated_rows import generated_rows

COLUMNS = {
    "n": DataTypes.BIGINT(),
    "small": DataTypes.TINYINT(),
    "word": DataTypes.STRING(),
    "short": DataTypes.VARCHAR(5),
    "share": DataTypes.DOUBLE(),
    "yes": DataTypes.BOOLEAN(),
}


def schema(**columns):
    return Schema.new_builder().from_fields(list(columns), list(columns.values())).build()


def rows(options, columns=COLUMNS, count=1000, path="t"):
    source = generated_rows(path, schema(**columns), {"number-of-rows": str(count), **options})
    return source._batch_function(0, count)


def test_numbers_are_between_their_bounds_and_reach_them():
    bounded = [row[0] for row in rows({"fields.s.min": "-3", "fields.s.max": "3"}, {"s": "INT"})]
    assert set(bounded) == set(range(-3, 4))
    small = [row[0] for row in rows({}, {"s": "TINYINT"}, count=10_000)]
    assert (min(small), max(small)) == (-128, 127)


def test_a_whole_type_is_used_without_bounds():
    wide = [row[0] for row in rows({}, {"n": "BIGINT"})]
    assert min(wide) < -(1 << 61)
    assert max(wide) > 1 << 61
    assert len(set(wide)) == 1000


def test_text_has_the_declared_length():
    made = rows({"fields.short.var-len": "true"})
    assert {len(row[2]) for row in made} == {100}
    assert {len(row[3]) for row in made} == {1, 2, 3, 4, 5}
    assert set("".join(row[2] for row in made)) == set("0123456789abcdef")


def test_reals_booleans_and_missing_values():
    made = rows({"fields.share.min": "1", "fields.share.max": "2", "fields.yes.null-rate": "0.5"})
    assert all(1 <= row[4] < 2 for row in made)
    assert {row[5] for row in made} == {True, False, None}
    assert 400 < sum(row[5] is None for row in made) < 600


def test_rows_do_not_depend_on_where_a_read_begins():
    source = generated_rows("t", schema(**COLUMNS), {})
    whole = source._batch_function(0, 100)
    assert source._batch_function(37, 100) == whole[37:]
    assert generated_rows("other", schema(**COLUMNS), {})._batch_function(0, 100) != whole


def test_sequences_end_the_table():
    options = {"fields.i.kind": "sequence", "fields.i.start": "5", "fields.i.end": "7"}
    source = generated_rows("t", schema(i="INT", t="STRING"), options)
    assert source.count == 3
    assert [row[0] for row in source._batch_function(0, 3)] == [5, 6, 7]
    assert generated_rows("t", schema(i="INT"), {**options, "number-of-rows": "2"}).count == 2
    text = generated_rows("t", schema(i="STRING"), options)
    assert text._batch_function(0, 3) == [("5",), ("6",), ("7",)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fields.x.min": "1"}, "no option 'fields.x.min'"),
        ({"rows": "1"}, "no option 'rows'"),
        ({"rows-per-second": "many"}, "rows-per-second is 'many'; expected a whole number"),
        ({"fields.n.min": "2", "fields.n.max": "1"}, "column 'n': 2 to 1 are not numbers of INT"),
        ({"fields.n.kind": "odd"}, "kind 'odd'; expected random or sequence"),
        ({"fields.n.kind": "sequence", "fields.n.start": "1"}, "a sequence needs end"),
        ({"fields.n.null-rate": "x"}, "null-rate is 'x'; expected a number"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ConfigurationError, match=message):
        generated_rows("t", schema(n="INT"), options)


def test_types_without_values_are_named():
    with pytest.raises(UnsupportedError, match="column 'd': 'datagen' makes no values of DATE"):
        generated_rows("t", schema(d=DataTypes.DATE()), {})


def test_the_program_of_a_table():
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    numbers = TableDescriptor.for_connector("datagen").schema(schema(id=DataTypes.INT()))
    numbers = numbers.option("number-of-rows", 20).option("fields.id.max", 4).option("fields.id.min", 0)
    tables.create_temporary_table("numbers", numbers.option("rows-per-second", 100000).build())
    stream = tables.to_data_stream(tables.from_path("numbers"))
    found = [row.id for row in stream.execute_and_collect()]
    assert len(found) == 20
    assert set(found) <= {0, 1, 2, 3, 4}
    tables.create_temporary_table("numbers", numbers.build(), True)
    with pytest.raises(PlanError, match="a table 'numbers' already"):
        tables.create_temporary_table("numbers", numbers.build())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.from_path("x"), PlanError, "no table 'x'; declared are: none"),
        (lambda t: t.execute_sql("SELECT 1"), UnsupportedError, "no SQL yet"),
        (lambda t: t.sql_query("SELECT 1"), UnsupportedError, "no SQL yet"),
        (lambda t: t.to_data_stream(1), ArgumentError, "expected a Table"),
        (
            lambda t: t.create_temporary_table("k", TableDescriptor.for_connector("kafka").build()),
            UnsupportedError,
            "the connector 'kafka'",
        ),
        (
            lambda t: t.create_temporary_table("k", TableDescriptor.for_connector("datagen").build()),
            PlanError,
            "has no schema",
        ),
        (lambda t: Schema.new_builder().build(), PlanError, "needs a column"),
        (lambda t: Schema.new_builder().column("a", "NUMBER"), PenstockError, "NUMBER"),
        (lambda t: Schema.new_builder().column("a", "INT").column("a", "INT"), PlanError, "'a' already"),
        (lambda t: Schema.new_builder().watermark("a", "b"), UnsupportedError, "Schema.watermark"),
        (lambda t: Schema.new_builder().column("a", 1), ArgumentError, "expected a type such as"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(StreamTableEnvironment.create())
