"""Values that are not quite of the declared type: what the next function is given, and what is printed."""

import datetime

from pyflink.common import Row, Types

MODES = ("STREAMING",)


def _seen(env, value, type_info):
    seen, printed = (env.from_collection([0]).map(lambda _: value, type_info) for _ in range(2))
    return {"seen": seen.rebalance().map(lambda v: f"{type(v).__name__} {v!r}", Types.STRING()), "printed": printed}


def truth_as_numbers(env):
    pair = Types.TUPLE([Types.INT(), Types.LONG(), Types.SHORT(), Types.BYTE(), Types.DOUBLE(), Types.FLOAT()])
    return _seen(env, (True, False, True, False, True, False), pair)


def numbers_as_truth(env):
    return _seen(env, (1, 0, 4), Types.TUPLE([Types.BOOLEAN(), Types.BOOLEAN(), Types.BOOLEAN()]))


def truth_in_rows_lists_and_maps(env):
    inner = Types.MAP(Types.STRING(), Types.INT())
    return _seen(env, Row([True], {"a": True}), Types.ROW([Types.LIST(Types.LONG()), inner]))


def truth_as_a_key(env):
    keyed = env.from_collection([1, 2, 3]).key_by(lambda n: n > 1, Types.INT())
    return keyed.reduce(lambda a, b: a + b)


def numbers_of_numpy(env):
    import numpy

    record = Types.TUPLE([Types.LONG(), Types.FLOAT(), Types.BOOLEAN()])
    return _seen(env, (numpy.int64(5), numpy.float32(0.1), numpy.bool_(True)), record)


def names_in_another_order(env):
    return _seen(env, Row(b="x", a=1), Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]))


def arrays(env):
    record = Types.ROW([Types.PRIMITIVE_ARRAY(Types.INT()), Types.BASIC_ARRAY(Types.DOUBLE()), Types.LIST(Types.INT())])
    return _seen(env, Row([1, 2], [0.5], []), record)


def microseconds(env):
    record = Types.TUPLE([Types.SQL_TIME(), Types.SQL_TIMESTAMP()])
    return _seen(env, (datetime.time(1, 2, 3, 4567), datetime.datetime(2024, 2, 29, 1, 2, 3, 456789)), record)


def years_of_three_digits(env):
    return env.from_collection([0]).map(lambda _: datetime.datetime(987, 1, 1), Types.SQL_TIMESTAMP())
