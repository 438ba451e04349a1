"""Whole numbers where floating ones are declared: how they are printed, and what functions are given."""

from pyflink.common import Row, Types

MODES = ("STREAMING",)


def _mapped(env, function, type_info):
    return env.from_collection([1, 2]).map(function, type_info)


def doubles(env):
    return _mapped(env, lambda n: n, Types.DOUBLE())


def floats(env):
    return _mapped(env, lambda n: n, Types.FLOAT())


def tuples(env):
    return _mapped(env, lambda n: (n, n, n), Types.TUPLE([Types.INT(), Types.DOUBLE(), Types.FLOAT()]))


def rows(env):
    return _mapped(env, lambda n: Row(n, n), Types.ROW([Types.DOUBLE(), Types.FLOAT()]))


def rows_in_tuples(env):
    return _mapped(env, lambda n: (Row(n),), Types.TUPLE([Types.ROW([Types.DOUBLE()])]))


def lists(env):
    return _mapped(env, lambda n: [n], Types.LIST(Types.DOUBLE()))


def maps(env):
    return _mapped(env, lambda n: {n: n}, Types.MAP(Types.INT(), Types.DOUBLE()))


def in_the_next_function(env):
    return _mapped(env, lambda n: n, Types.DOUBLE()).map(str, Types.STRING())


def behind_a_key(env):
    return _mapped(env, lambda n: n, Types.DOUBLE()).key_by(lambda n: 0).map(str, Types.STRING())
