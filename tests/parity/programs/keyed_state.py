"""State of keys, of all kinds, in all functions that may have it."""

from pyflink.common import Row, Time, Types
from pyflink.datastream.functions import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
)
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

PAIRS = [("a", 1), ("b", 10), ("a", 2), ("a", 3), ("b", 20), ("c", 5), ("a", 4)]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


def _pairs(env):
    return env.from_collection(PAIRS, PAIR).key_by(lambda pair: pair[0], key_type=Types.STRING())


class ValueOf(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        before = self.total.value()
        if value[1] == 3:
            self.total.clear()
        else:
            self.total.update((before or 0) + value[1])
        yield f"{ctx.get_current_key()} {before} {self.total.value()}"


def value_state(env):
    return _pairs(env).process(ValueOf(), Types.STRING())


class FloatOf(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.FLOAT()))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0.0) + value[1])
        yield value[0], self.total.value()


def value_state_of_floats(env):
    pairs = env.from_collection([("a", 0.1), ("a", 0.2), ("a", 0.3)], Types.TUPLE([Types.STRING(), Types.FLOAT()]))
    return pairs.key_by(lambda pair: pair[0]).process(FloatOf())


class RowOf(KeyedProcessFunction):
    def open(self, runtime_context):
        row = Types.ROW_NAMED(["last", "count"], [Types.INT(), Types.INT()])
        self.state = runtime_context.get_state(ValueStateDescriptor("row", row))

    def process_element(self, value, ctx):
        row = self.state.value() or Row(last=None, count=0)
        yield f"{value[0]} {row[0]} {row[1]}"
        self.state.update(Row(last=value[1], count=row[1] + 1))


def value_state_of_rows(env):
    return _pairs(env).process(RowOf(), Types.STRING())


class ListOf(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def process_element(self, value, ctx):
        self.seen.add(value[1])
        if value[1] == 2:
            self.seen.add_all([20, 21])
        if value[1] == 3:
            self.seen.update([30])
        if value[1] == 4:
            self.seen.clear()
        yield f"{value[0]} {list(self.seen)} {list(self.seen.get())}"


def list_state(env):
    return _pairs(env).process(ListOf(), Types.STRING())


class MapOf(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.STRING(), Types.INT()))

    def process_element(self, value, ctx):
        empty = self.seen.is_empty()
        self.seen.put(f"k{value[1] % 3}", value[1])
        if value[1] == 2:
            self.seen.put_all([("x", 1), ("y", 2)])
        if value[1] == 3:
            self.seen.remove("x")
            self.seen["z"] = 9
        if value[1] == 4:
            del self.seen["y"]
        yield (
            f"{value[0]} {empty} {sorted(self.seen.items())} {sorted(self.seen.keys())} {sorted(self.seen.values())} "
            f"{self.seen.contains('x')} {'z' in self.seen} {self.seen.get('none')} {self.seen['k1']}"
        )


def map_state(env):
    return _pairs(env).process(MapOf(), Types.STRING())


class Product(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 * value2


class ReducingOf(KeyedProcessFunction):
    def open(self, runtime_context):
        self.product = runtime_context.get_reducing_state(ReducingStateDescriptor("product", Product(), Types.LONG()))

    def process_element(self, value, ctx):
        before = self.product.get()
        self.product.add(value[1])
        if value[1] == 3:
            self.product.clear()
        yield f"{value[0]} {before} {self.product.get()}"


def reducing_state(env):
    return _pairs(env).process(ReducingOf(), Types.STRING())


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class AggregatingOf(KeyedProcessFunction):
    def open(self, runtime_context):
        pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.average = runtime_context.get_aggregating_state(AggregatingStateDescriptor("average", Average(), pair))

    def process_element(self, value, ctx):
        before = self.average.get()
        self.average.add(value[1])
        yield f"{value[0]} {before} {self.average.get()}"


def aggregating_state(env):
    return _pairs(env).process(AggregatingOf(), Types.STRING())


class Mutating(KeyedProcessFunction):
    """Changes a value without `update`."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx):
        seen = self.seen.value()
        if seen is None:
            self.seen.update([value[1]])
        else:
            seen.append(value[1])
        yield f"{value[0]} {self.seen.value()}"


def a_value_that_is_changed_in_place(env):
    return (
        env.from_collection([("a", 1), ("a", 2), ("a", 3)]).key_by(lambda p: p[0]).process(Mutating(), Types.STRING())
    )


class Numbered(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return f"{value[0]}{self.count.value()}"


def keyed_map(env):
    return _pairs(env).map(Numbered(), Types.STRING())


class Repeated(FlatMapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def flat_map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        for _ in range(self.count.value()):
            yield value


def keyed_flat_map(env):
    return _pairs(env).flat_map(Repeated(), PAIR)


class EverySecond(FilterFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def filter(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return self.count.value() % 2 == 0


def keyed_filter(env):
    return _pairs(env).filter(EverySecond())


class Parity(KeySelector):
    def get_key(self, value):
        return value[1] % 2


class KeyOf(KeyedProcessFunction):
    def process_element(self, value, ctx):
        key = ctx.get_current_key()
        yield f"{key!r} {type(key).__name__}"


def a_key_selector(env):
    return env.from_collection(PAIRS, PAIR).key_by(Parity(), key_type=Types.INT()).process(KeyOf(), Types.STRING())


def keys_without_a_type(env):
    stream = env.from_collection([1, 2, 3]).key_by(lambda n: (n % 2, "x"))
    return stream.process(KeyOf(), Types.STRING())


def keys_that_are_rows(env):
    row = Types.ROW_NAMED(["n", "s"], [Types.INT(), Types.STRING()])
    return env.from_collection([1, 2, 3]).key_by(lambda n: Row(n % 2, "x"), row).process(KeyOf(), Types.STRING())


def keys_that_are_tuples(env):
    pair = Types.TUPLE([Types.INT(), Types.STRING()])
    return env.from_collection([1, 2, 3]).key_by(lambda n: (n % 2, "x"), pair).process(KeyOf(), Types.STRING())


def keys_that_are_floats(env):
    return env.from_collection([0.5, 1.5, 0.5]).key_by(lambda x: x, Types.DOUBLE()).process(KeyOf(), Types.STRING())


class Mine(KeyedProcessFunction):
    def open(self, runtime_context):
        self.mine = runtime_context.get_state(ValueStateDescriptor("mine", Types.STRING()))

    def process_element(self, value, ctx):
        yield f"{value} {self.mine.value()}"
        self.mine.update(str(value))


def state_belongs_to_the_operator(env):
    keyed = env.from_collection([1, 2, 1]).key_by(lambda n: n)
    first, second = keyed.process(Mine(), Types.STRING()), keyed.process(Mine(), Types.STRING())
    return {"first": first, "second": second}


class Changing(KeyedProcessFunction):
    """Lists that become empty, and what is there before anything was added."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.rows = runtime_context.get_list_state(ListStateDescriptor("rows", Types.ROW_NAMED(["n"], [Types.INT()])))

    def process_element(self, value, ctx):
        before, none = list(self.seen.get()), self.seen.get() is None
        self.seen.update([])
        empty = list(self.seen.get())
        self.seen.add_all(number for number in (value[1], 7))
        self.rows.add(Row(value[1]))
        yield f"{value[0]} {before} {none} {empty} {list(self.seen.get())} {list(self.rows.get())}"


def lists_that_become_empty(env):
    return _pairs(env).process(Changing(), Types.STRING())


class Missing(KeyedProcessFunction):
    """Entries that are not there, keys with fields."""

    def open(self, runtime_context):
        key, pair = Types.ROW([Types.INT(), Types.STRING()]), Types.TUPLE([Types.INT(), Types.STRING()])
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", key, pair))

    def process_element(self, value, ctx):
        none = self.seen[Row(9, "x")], self.seen.get(Row(9, "x")), self.seen.remove(Row(9, "x")), self.seen.is_empty()
        del self.seen[Row(9, "x")]
        self.seen.put_all([(Row(value[1] % 2, "x"), (value[1], "y"))])
        yield f"{value[0]} {none} {sorted(map(str, self.seen.items()))} {self.seen.contains(Row(0, 'x'))}"
        if value[1] == 3:
            self.seen.clear()


def maps_without_what_is_asked_for(env):
    return _pairs(env).process(Missing(), Types.STRING())


class Nones(KeyedProcessFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))
        self.same = runtime_context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx):
        yield f"{value} {self.last.value()} {self.same.value()}"
        self.last.update(value[1] if value[1] % 2 else None)


def a_value_of_none_and_a_name_used_twice(env):
    return _pairs(env).process(Nones(), Types.STRING())


class Lasting(KeyedProcessFunction):
    """All kinds of state, with a time to live that does not end here."""

    def open(self, runtime_context):
        config = StateTtlConfig.new_builder(Time.hours(1)).set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
        ttl = config.cleanup_full_snapshot().build()
        pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        descriptors = [
            ValueStateDescriptor("value", Types.INT()),
            ListStateDescriptor("list", Types.INT()),
            MapStateDescriptor("map", Types.INT(), Types.INT()),
            ReducingStateDescriptor("product", Product(), Types.LONG()),
            AggregatingStateDescriptor("average", Average(), pair),
        ]
        for descriptor in descriptors:
            descriptor.enable_time_to_live(ttl)
        self.value = runtime_context.get_state(descriptors[0])
        self.list = runtime_context.get_list_state(descriptors[1])
        self.map = runtime_context.get_map_state(descriptors[2])
        self.product = runtime_context.get_reducing_state(descriptors[3])
        self.average = runtime_context.get_aggregating_state(descriptors[4])

    def process_element(self, value, ctx):
        listed, mapped = list(self.list.get()), sorted(self.map.items())
        yield f"{value} {self.value.value()} {listed} {mapped} {self.product.get()} {self.average.get()}"
        self.value.update(value[1])
        self.list.add(value[1])
        self.map.put(value[1], -value[1])
        self.product.add(value[1])
        self.average.add(value[1])


def state_with_a_time_to_live(env):
    return _pairs(env).process(Lasting(), Types.STRING())


class Where(KeyedProcessFunction):
    def open(self, runtime_context):
        subtask = runtime_context.get_task_name_with_subtasks().rpartition(" ")[2]
        index, attempt = runtime_context.get_index_of_this_subtask(), runtime_context.get_attempt_number()
        self.where = f"{subtask} {index} {attempt} {runtime_context.get_job_parameter('none', 'default')}"
        self.context = runtime_context

    def process_element(self, value, ctx):
        late = self.context.get_state(ValueStateDescriptor("late", Types.INT()))
        yield f"{self.where} {late.value()}"
        late.update(value[1])


def the_runtime_context(env):
    return _pairs(env).process(Where(), Types.STRING())


ORDER_VARIES = ()
