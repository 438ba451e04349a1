"""Keys of all kinds: what a function is told of them, and which are the same."""

import datetime
from decimal import Decimal

from pyflink.common import Row, Types
from pyflink.datastream.functions import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor

MODES = ("STREAMING",)


class Counted(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield f"{ctx.get_current_key()!r} {type(ctx.get_current_key()).__name__} {self.count.value()}"


def _counted(env, key, key_type=None):
    return env.from_collection([1, 2, 3]).key_by(key, key_type).process(Counted(), Types.STRING())


def dates_and_truth(env):
    return {
        "date": _counted(env, lambda n: datetime.date(2024, 1, 1 + n % 2), Types.SQL_DATE()),
        "timestamp": _counted(env, lambda n: datetime.datetime(2024, 1, 1, n % 2), Types.SQL_TIMESTAMP()),
        "truth": _counted(env, lambda n: n > 1, Types.BOOLEAN()),
    }


def nested(env):
    inner = Types.TUPLE([Types.INT(), Types.STRING()])
    return {
        "tuple": _counted(env, lambda n: (n % 2, (n % 2, "a")), Types.TUPLE([Types.INT(), inner])),
        "row": _counted(env, lambda n: Row(a=n % 2), Types.ROW_NAMED(["a"], [Types.INT()])),
        "row of none": _counted(env, lambda n: Row(None, n % 2), Types.ROW([Types.STRING(), Types.INT()])),
    }


def without_a_type(env):
    return {
        "none": _counted(env, lambda n: None),
        "none in tuple": _counted(env, lambda n: (None, n % 2)),
        "row": _counted(env, lambda n: Row(a=n % 2)),
        "bytes": _counted(env, lambda n: b"x"),
        "nan": _counted(env, lambda n: float("nan")),
        "pickled": _counted(env, lambda n: (n % 2, "a"), Types.PICKLED_BYTE_ARRAY()),
    }


def floats(env):
    return {"float": _counted(env, lambda n: 0.1, Types.FLOAT()), "nan": _counted(env, lambda n: float("nan"))}


def equal_in_python(env):
    return _counted(env, lambda n: (None, 1, 1.0, True)[n])


def equal_decimals(env):
    return _counted(env, lambda n: Decimal("1.0") if n == 1 else Decimal("1.00"), Types.BIG_DEC())


def zeros(env):
    return _counted(env, lambda n: -0.0 if n == 1 else 0.0, Types.DOUBLE())


def keys_of_keys(env):
    return env.from_collection([1, 2, 3]).key_by(lambda n: n).key_by(lambda n: n % 2).process(Counted(), Types.STRING())
