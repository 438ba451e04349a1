"""`reduce` and the aggregations of a field."""

from pyflink.common import Row, Types
from pyflink.datastream.functions import ReduceFunction

PAIRS = [("a", 3), ("b", 7), ("a", -1), ("a", 10), ("b", 7), ("b", 1)]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
TRIPLES = [("a", 3, "first"), ("a", 1, "second"), ("b", 2, "third"), ("a", 1, "fourth"), ("b", 5, "fifth")]
TRIPLE = Types.TUPLE([Types.STRING(), Types.INT(), Types.STRING()])
SALES = Types.ROW_NAMED(["card", "amount", "price"], [Types.STRING(), Types.INT(), Types.FLOAT()])
SALES_ROWS = [Row("visa", 2, 0.1), Row("amex", 1, 0.5), Row("visa", 5, 0.2), Row("visa", 1, 0.7), Row("amex", 3, 0.25)]


def _pairs(env):
    return env.from_collection(PAIRS, PAIR).key_by(lambda pair: pair[0])


def reduce_by_a_lambda(env):
    return _pairs(env).reduce(lambda a, b: (a[0], a[1] + b[1]))


class Longest(ReduceFunction):
    def reduce(self, value1, value2):
        return value2 if len(value2) > len(value1) else value1


def reduce_function(env):
    return env.from_collection(["aa", "b", "aaa", "bb", "a"]).key_by(lambda s: s[0]).reduce(Longest())


def reduce_of_rows(env):
    rows = env.from_collection(SALES_ROWS, SALES).key_by(lambda row: row.card)
    return rows.reduce(lambda a, b: Row(a[0], a[1] + b[1], a[2] + b[2]))


def reduce_of_floats_is_kept_as_32_bits(env):
    pairs = env.from_collection([("a", 0.1), ("a", 0.2), ("a", 0.3)], Types.TUPLE([Types.STRING(), Types.FLOAT()]))
    return pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


def reduce_of_untyped_records(env):
    return env.from_collection(PAIRS).key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] * b[1]))


def a_key_with_one_record(env):
    return env.from_collection([("only", 1)], PAIR).key_by(lambda pair: pair[0]).reduce(lambda a, b: ("never", 0))


def sum_of_tuples(env):
    return _pairs(env).sum(1)


def min_of_tuples(env):
    return env.from_collection(TRIPLES, TRIPLE).key_by(lambda t: t[0]).min(1)


def max_of_tuples(env):
    return env.from_collection(TRIPLES, TRIPLE).key_by(lambda t: t[0]).max(1)


def min_by_of_tuples(env):
    return env.from_collection(TRIPLES, TRIPLE).key_by(lambda t: t[0]).min_by(1)


def max_by_of_tuples(env):
    return env.from_collection(TRIPLES, TRIPLE).key_by(lambda t: t[0]).max_by(1)


def min_and_max_of_text(env):
    stream = env.from_collection(TRIPLES, TRIPLE).key_by(lambda t: t[0])
    return {"min": stream.min(2), "max": stream.max(2), "min_by": stream.min_by(2), "max_by": stream.max_by(2)}


def sum_of_floats(env):
    pairs = [("a", 0.1), ("b", 0.5), ("a", 0.2), ("a", 0.7)]
    return env.from_collection(pairs, Types.TUPLE([Types.STRING(), Types.FLOAT()])).key_by(lambda p: p[0]).sum(1)


def sum_of_doubles(env):
    pairs = [("a", 0.1), ("b", 0.5), ("a", 0.2), ("a", 0.7)]
    return env.from_collection(pairs, Types.TUPLE([Types.STRING(), Types.DOUBLE()])).key_by(lambda p: p[0]).sum(1)


def aggregations_of_rows_by_name(env):
    rows = env.from_collection(SALES_ROWS, SALES).key_by(lambda row: row.card)
    return {
        "sum": rows.sum("amount"),
        "sum_price": rows.sum("price"),
        "min": rows.min("amount"),
        "max": rows.max("price"),
        "min_by": rows.min_by("amount"),
        "max_by": rows.max_by("price"),
    }


def aggregations_of_rows_by_position(env):
    rows = env.from_collection(SALES_ROWS, SALES).key_by(lambda row: row.card)
    return {"sum": rows.sum(1), "min": rows.min(2), "max": rows.max(1), "min_by": rows.min_by(2)}


def collected_sum_of_rows(env):
    return env.from_collection(SALES_ROWS, SALES).key_by(lambda row: row.card).sum("amount")


def aggregations_of_plain_numbers(env):
    numbers = env.from_collection([3, 8, 1, 6, 5], Types.INT()).key_by(lambda n: n % 2)
    return {
        "sum": numbers.sum(),
        "min": numbers.min(),
        "max": numbers.max(),
        "min_by": numbers.min_by(),
        "max_by": numbers.max_by(),
    }


def sum_of_untyped_tuples(env):
    return env.from_collection(PAIRS).key_by(lambda pair: pair[0]).sum(1)


def sum_after_a_map_without_a_type(env):
    return env.from_collection(PAIRS).map(lambda pair: (pair[0], pair[1] / 2)).key_by(lambda pair: pair[0]).sum(1)


def two_aggregations_in_a_row(env):
    return _pairs(env).sum(1).key_by(lambda pair: pair[1] % 2).max(1)


def a_key_of_two_fields(env):
    stream = env.from_collection(TRIPLES, TRIPLE).key_by(
        lambda t: (t[0], t[1] > 1), Types.TUPLE([Types.STRING(), Types.BOOLEAN()])
    )
    return stream.sum(1)


def collected_reduce_of_rows_to_rows_without_names(env):
    rows = env.from_collection(SALES_ROWS, SALES).key_by(lambda row: row.card)
    return rows.reduce(lambda a, b: Row(a[0], a[1] + b[1], b[2]))


def collected_reduce_of_untyped_numbers_to_text(env):
    return env.from_collection([1, 2, 3]).key_by(lambda n: 0).reduce(lambda a, b: f"{a}{b}")


def reduce_of_untyped_pairs_to_other_fields(env):
    pairs = env.from_collection(PAIRS).key_by(lambda pair: pair[0])
    return {
        "fractions": pairs.reduce(lambda a, b: (a[0], a[1] / 2 + b[1])),
        "longer": pairs.reduce(lambda a, b: a + b),
        "numbers": pairs.reduce(lambda a, b: (a if isinstance(a, int) else a[1]) + b[1]),
    }


def sum_of_the_last_field(env):
    return _pairs(env).sum(-1)


def aggregations_of_untyped_lists(env):
    lists = env.from_collection([["a", 3, "x"], ["a", 5, "y"], ["b", 1, "z"]]).key_by(lambda values: values[0])
    return {"sum": lists.sum(1), "max": lists.max(1), "min_by": lists.min_by(1)}
