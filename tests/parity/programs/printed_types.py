"""How records of every type are printed and collected: as the source has them, and after a function."""

import datetime
from decimal import Decimal

from pyflink.common import Instant, Row, RowKind, Types

MODES = ("STREAMING",)


def _source_and_map(env, values, type_info):
    stream = env.from_collection(values, type_info)
    return {"source": stream, "map": stream.map(lambda v: v, type_info)}


def _map(env, values, type_info):
    return env.from_collection(values).map(lambda v: v, type_info)


def _collected(env, values, type_info):
    return env.from_collection(values, type_info).map(lambda v: v, type_info)


def text(env):
    return _source_and_map(env, ["a", "", "ä€𝄞", "with\ttab", "'quoted' \"text\""], Types.STRING())


def booleans(env):
    return _source_and_map(env, [True, False], Types.BOOLEAN())


def bytes_and_shorts(env):
    pair = Types.TUPLE([Types.BYTE(), Types.SHORT()])
    return _source_and_map(env, [(-128, -32768), (127, 32767), (0, 1)], pair)


def integers(env):
    return _source_and_map(env, [0, -1, 2**31 - 1, -(2**31)], Types.INT())


def longs(env):
    return _source_and_map(env, [0, -1, 2**63 - 1, -(2**63)], Types.LONG())


# None whose text is another before Java 19.
FLOATS = [
    0.0,
    -0.0,
    1.0,
    0.1,
    1 / 3,
    123456.789,
    1e7,
    1e-3,
    1e-4,
    -2.5e-7,
    16777217.0,
    3.4e38,
    1e-45,
    9999999.0,
]


def floats_are_32_bits(env):
    return _source_and_map(env, [*FLOATS, float("inf"), float("-inf"), float("nan")], Types.FLOAT())


def collected_floats(env):
    return _collected(env, FLOATS, Types.FLOAT())


def a_sum_of_floats_in_python(env):
    return env.from_collection([0.1, 0.2], Types.FLOAT()).map(lambda v: v * 3, Types.FLOAT()).map(lambda v: v * 3)


def doubles(env):
    values = [0.1, 1 / 3, 1e100, 1e-100, 123456789.0, 9999999.0, 1e7, 0.001, 0.0001, 2.0**-1074, 1.7976931348623157e308]
    return _source_and_map(env, values, Types.DOUBLE())


def collected_doubles(env):
    return _collected(env, [0.1, 1e100, float("inf"), float("nan"), -0.0], Types.DOUBLE())


def decimals(env):
    return _source_and_map(env, [Decimal("1.50"), Decimal("-3"), Decimal("0.000001")], Types.BIG_DEC())


def collected_decimals(env):
    return _collected(env, [Decimal("1.50"), Decimal("-3"), Decimal("12345678901234.5")], Types.BIG_DEC())


def dates(env):
    return _source_and_map(env, [datetime.date(2024, 2, 29), datetime.date(1969, 12, 31)], Types.SQL_DATE())


def times(env):
    values = [datetime.time(0, 0, 0), datetime.time(23, 59, 58), datetime.time(1, 2, 3, 4000)]
    return _source_and_map(env, values, Types.SQL_TIME())


def timestamps(env):
    values = [
        datetime.datetime(2024, 2, 29, 1, 2, 3),
        datetime.datetime(1970, 1, 1),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 456000),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 456789),
    ]
    return _source_and_map(env, values, Types.SQL_TIMESTAMP())


def collected_dates_and_times(env):
    record = Types.TUPLE([Types.SQL_DATE(), Types.SQL_TIME()])
    return _collected(env, [(datetime.date(2024, 2, 29), datetime.time(1, 2, 3))], record)


def instants(env):
    return _source_and_map(env, [Instant.of_epoch_milli(0), Instant.of_epoch_milli(1_700_000_000_123)], Types.INSTANT())


def tuples(env):
    record = Types.TUPLE([Types.INT(), Types.STRING(), Types.FLOAT(), Types.BOOLEAN()])
    return _source_and_map(env, [(1, "a", 0.1, True), (2, "b", 2.0, False)], record)


def collected_tuples(env):
    record = Types.TUPLE([Types.INT(), Types.STRING(), Types.FLOAT(), Types.TUPLE([Types.LONG(), Types.STRING()])])
    return _collected(env, [(1, "a", 0.1, (7, "x"))], record)


def tuples_in_tuples(env):
    record = Types.TUPLE([Types.INT(), Types.TUPLE([Types.STRING(), Types.DOUBLE()])])
    return _source_and_map(env, [(1, ("a", 0.5)), (2, ("b", 1e10))], record)


def tuples_with_none(env):
    record = Types.TUPLE([Types.INT(), Types.ROW([Types.STRING(), Types.INT()])])
    return _source_and_map(env, [(1, Row(None, 1)), (2, Row("a", None))], record)


def rows(env):
    record = Types.ROW([Types.INT(), Types.STRING(), Types.FLOAT(), Types.BOOLEAN()])
    return _source_and_map(env, [Row(1, "a", 0.1, True), Row(2, None, None, False)], record)


def rows_with_names(env):
    record = Types.ROW_NAMED(["id", "name", "price"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
    return _source_and_map(env, [Row(1, "a", 0.1), Row(2, None, 1e10), (3, "tuple", 3.0)], record)


def collected_rows(env):
    record = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    return _collected(env, [Row(1, "a"), (2, None)], record)


def collected_rows_without_names(env):
    return _collected(env, [Row(1, "a"), (2, None)], Types.ROW([Types.LONG(), Types.STRING()]))


def rows_by_keyword(env):
    record = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    return _source_and_map(env, [Row(id=1, name="a"), Row(id=2, name="b")], record)


def rows_of_other_kinds(env):
    def with_kind(value):
        row = Row(value, "x")
        row.set_row_kind([RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE][value])
        return row

    return env.from_collection([0, 1, 2, 3]).map(with_kind, Types.ROW([Types.LONG(), Types.STRING()]))


def rows_in_rows(env):
    inner = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    record = Types.ROW_NAMED(["k", "inner"], [Types.STRING(), inner])
    return _source_and_map(env, [Row("x", Row(1, "y")), Row("z", None)], record)


def rows_with_dates(env):
    record = Types.ROW([Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP(), Types.BIG_DEC()])
    value = Row(
        datetime.date(2024, 2, 29), datetime.time(1, 2, 3), datetime.datetime(2024, 2, 29, 1, 2, 3), Decimal("1.5")
    )
    return _source_and_map(env, [value], record)


def lists(env):
    return _map(env, [[1, 2], []], Types.LIST(Types.INT()))


def lists_of_tuples(env):
    return _map(env, [[(1, "a"), (2, "b")]], Types.LIST(Types.TUPLE([Types.INT(), Types.STRING()])))


def maps(env):
    return _map(env, [{"a": 1}, {}], Types.MAP(Types.STRING(), Types.INT()))


def rows_with_collections(env):
    record = Types.ROW([Types.LIST(Types.STRING()), Types.MAP(Types.STRING(), Types.DOUBLE()), Types.BOOLEAN()])
    return _map(env, [Row(["x", "y"], {"k": 0.5}, True)], record)


def tuples_with_collections(env):
    record = Types.TUPLE([Types.LIST(Types.STRING()), Types.MAP(Types.STRING(), Types.DOUBLE()), Types.BOOLEAN()])
    return _map(env, [(["x", "y"], {"k": 0.5}, True)], record)


def collected_collections(env):
    record = Types.TUPLE([Types.LIST(Types.STRING()), Types.MAP(Types.STRING(), Types.DOUBLE())])
    return _collected(env, [(["x", "y"], {"k": 0.5})], record)


def collected_arrays(env):
    record = Types.TUPLE(
        [Types.PRIMITIVE_ARRAY(Types.LONG()), Types.BASIC_ARRAY(Types.STRING()), Types.OBJECT_ARRAY(Types.STRING())]
    )
    return _collected(env, [([1, 2], ["a", "b"], ["c"])], record)


def python_objects(env):
    values = [1, 2.5, "text", True, (1, "a", None), [1, 2], {"k": [1]}, {3}, Row(1, "a"), Row(a=1), 1 + 2j]
    return env.from_collection(values).map(lambda v: v)


def python_objects_of_a_declared_type(env):
    return _map(env, [(1, "a"), {"k": 0.1}, [None]], Types.PICKLED_BYTE_ARRAY())


def records_of_the_source_without_a_type(env):
    return {
        "numbers": env.from_collection([1, 2]),
        "pairs": env.from_collection([("a", 1.5)]),
        "texts": env.from_collection(["a", "b"]),
        "rows": env.from_collection([Row(a=1, b="x")]),
    }
