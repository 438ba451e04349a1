"""Side outputs, unions, connected and broadcast streams."""

from pyflink.common import Types
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor


class Split(ProcessFunction):
    """A tag cannot be pickled once PyFlink has used it, so each program makes its own."""

    def __init__(self):
        self.odd = OutputTag("odd", Types.INT())
        self.text = OutputTag("text", Types.TUPLE([Types.STRING(), Types.INT()]))
        self.untyped = OutputTag("plain")

    def process_element(self, value, ctx):
        if value % 2:
            yield self.odd, value
        else:
            yield value
        if value % 3 == 0:
            yield self.text, (f"n{value}", value)
            yield self.untyped, {"n": value}


def side_outputs(env):
    split = Split()
    main = env.from_collection(list(range(10)), Types.INT()).process(split, Types.INT())
    return {
        "main": main,
        "odd": main.get_side_output(split.odd),
        "text": main.get_side_output(split.text),
        "plain": main.get_side_output(split.untyped),
    }


def a_side_output_alone(env):
    split = Split()
    return env.from_collection(list(range(10)), Types.INT()).process(split, Types.INT()).get_side_output(split.odd)


def a_side_output_goes_on(env):
    split = Split()
    main = env.from_collection(list(range(10)), Types.INT()).process(split, Types.INT())
    return main.get_side_output(split.text).map(lambda pair: pair[0] + "!", Types.STRING())


class KeyedSplit(KeyedProcessFunction):
    def __init__(self):
        self.again = OutputTag("again", Types.INT())

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{ctx.get_current_key()} {count}"
        if count > 1:
            yield self.again, value


def side_outputs_of_a_keyed_function(env):
    split = KeyedSplit()
    main = env.from_collection([1, 2, 4, 3, 6], Types.INT()).key_by(lambda n: n % 2).process(split, Types.STRING())
    return {"main": main, "again": main.get_side_output(split.again)}


def a_union(env):
    first, second = env.from_collection([1, 2], Types.INT()), env.from_collection([3], Types.INT())
    return first.union(second, first.map(lambda n: -n, Types.INT())).map(lambda n: n * 10, Types.INT())


def a_union_with_itself(env):
    stream = env.from_collection([1, 2], Types.INT())
    return stream.union(stream)


def a_sum_over_a_union(env):
    first, second = env.from_collection([1, 2], Types.INT()), env.from_collection([3, 4, 5], Types.INT())
    return first.union(second).key_by(lambda n: 0).reduce(lambda a, b: a + b).filter(lambda total: total == 15)


class Label(CoMapFunction):
    def map1(self, value):
        return f"number {value}"

    def map2(self, value):
        return None if value == "skipped" else f"text {value}"


def _numbers_and_texts(env):
    return env.from_collection([1, 2]).connect(env.from_collection(["a", "skipped", "b"]))


def co_map(env):
    return _numbers_and_texts(env).map(Label(), Types.STRING())


class Spread(CoFlatMapFunction):
    def flat_map1(self, value):
        for _ in range(value):
            yield str(value)

    def flat_map2(self, value):
        return [value, value.upper()] if len(value) == 1 else None


def co_flat_map(env):
    return _numbers_and_texts(env).flat_map(Spread(), Types.STRING())


class Both(CoProcessFunction):
    def __init__(self):
        self.text = OutputTag("text", Types.TUPLE([Types.STRING(), Types.INT()]))

    def process_element1(self, value, ctx):
        yield f"first {value}"

    def process_element2(self, value, ctx):
        yield f"second {value}"
        yield self.text, (value, 2)


def co_process(env):
    both = Both()
    main = _numbers_and_texts(env).process(both, Types.STRING())
    return {"main": main, "text": main.get_side_output(both.text)}


class Joined(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        self.amount = runtime_context.get_state(ValueStateDescriptor("amount", Types.INT()))

    def process_element1(self, value, ctx):
        self.name.update(value[1])
        yield from self.joined(ctx)

    def process_element2(self, value, ctx):
        self.amount.update(value[1])
        yield from self.joined(ctx)

    def joined(self, ctx):
        if self.name.value() is not None and self.amount.value() is not None:
            yield ctx.get_current_key(), self.name.value(), self.amount.value()


NAMES = [(1, "ann"), (2, "bob"), (3, "eve")]
AMOUNTS = [(3, 30), (1, 10), (4, 40)]


def keyed_co_process(env):
    names = env.from_collection(NAMES, Types.TUPLE([Types.INT(), Types.STRING()]))
    amounts = env.from_collection(AMOUNTS, Types.TUPLE([Types.INT(), Types.INT()]))
    connected = names.connect(amounts).key_by(lambda n: n[0], lambda a: a[0])
    return connected.process(Joined(), Types.TUPLE([Types.INT(), Types.STRING(), Types.INT()]))


def two_keyed_streams_connected(env):
    names, amounts = env.from_collection(NAMES), env.from_collection(AMOUNTS)
    return names.key_by(lambda n: n[0]).connect(amounts.key_by(lambda a: a[0])).process(Joined())


class CountingMap(CoMapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map1(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return f"{value[0]} {self.count.value()}"

    map2 = map1


def keyed_co_map_has_state(env):
    names, amounts = env.from_collection(NAMES), env.from_collection(AMOUNTS)
    return names.connect(amounts).key_by(lambda n: n[0], lambda a: a[0]).map(CountingMap(), Types.STRING())


RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Waiting(BroadcastProcessFunction):
    """Emits each number with the rule, whichever comes first."""

    def __init__(self):
        self.early = []

    def process_element(self, value, ctx):
        state = ctx.get_broadcast_state(RULES)
        if state.contains("factor"):
            yield value * state.get("factor")
        else:
            self.early.append(value)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(*value)
        for number in self.early:
            yield number * value[1]
        self.early = []


def broadcast_state(env):
    rules = env.from_collection([("factor", 3)]).broadcast(RULES)
    return env.from_collection([1, 2, 3]).connect(rules).process(Waiting(), Types.INT())


class KeyedWaiting(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1)
        self.total.update((self.total.value() or 0) + value)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(*value)

    def on_timer(self, timestamp, ctx):
        rules = dict(ctx.get_broadcast_state(RULES).items())
        yield f"{ctx.get_current_key()} {self.total.value()} {sorted(rules.items())}"


def keyed_broadcast_state(env):
    rules = env.from_collection([("factor", 3), ("limit", 9)]).broadcast(RULES)
    numbers = env.from_collection([1, 2, 3, 4]).key_by(lambda n: n % 2, Types.INT())
    return numbers.connect(rules).process(KeyedWaiting(), Types.STRING())


class Changing(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        return []

    def process_broadcast_element(self, value, ctx):
        rules, names = ctx.get_broadcast_state(RULES), ctx.get_broadcast_state(NAMES_OF_RULES)
        rules.put(f"k{value}", value)
        rules.put_all([("z", 1)])
        names.put(value, "x")
        yield f"{sorted(rules.items())} {sorted(names.keys())} {list(names.values())} {rules.contains('k7')}"
        yield f"{'z' in rules} {rules.get('none')} {rules['z']} {rules.is_empty()}"
        rules.remove("z")


NAMES_OF_RULES = MapStateDescriptor("names", Types.INT(), Types.STRING())


def two_broadcast_states(env):
    rules = env.from_collection([7, 8]).broadcast(RULES, NAMES_OF_RULES)
    return env.from_collection([1, 2]).connect(rules).process(Changing(), Types.STRING())


def a_diamond(env):
    stream = env.from_collection([1, 2, 3], Types.INT())
    plus, times = stream.map(lambda n: n + 100, Types.INT()), stream.map(lambda n: n * 100, Types.INT())
    return {"plus": plus, "times": times, "both": plus.union(times)}


ORDER_VARIES = (
    "a_union",
    "a_union_with_itself",
    "co_map",
    "co_flat_map",
    "co_process",
    "keyed_co_process",
    "two_keyed_streams_connected",
    "keyed_co_map_has_state",
    "broadcast_state",
    "keyed_broadcast_state",
    "a_diamond",
)
