"""PyFlink's examples in words of our own: the same operators on the same data, so that they print the same."""

import json
from pathlib import Path

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import RuntimeExecutionMode
from pyflink.datastream.functions import KeyedProcessFunction, ProcessWindowFunction, WindowFunction
from pyflink.datastream.state import StateTtlConfig, ValueStateDescriptor
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)


def _person(number, name, telephone, country, city):
    address = {"country": country, "city": city}
    return number, json.dumps({"name": name, "tel": telephone, "addr": address})


PEOPLE = [
    _person(1, "Flink", 123, "Germany", "Berlin"),
    _person(2, "hello", 135, "China", "Shanghai"),
    _person(3, "world", 124, "USA", "NewYork"),
    _person(4, "PyFlink", 32, "China", "Hangzhou"),
]


def _next_number(text):
    person = json.loads(text)
    return {**person, "tel": person["tel"] + 1}


def basic_operations(env):
    env.set_parallelism(1)
    people = env.from_collection(PEOPLE, Types.ROW_NAMED(["id", "info"], [Types.INT(), Types.STRING()]))
    renumbered = people.map(lambda person: (person.id, json.dumps(_next_number(person.info))))
    renumbered.print()
    env.execute()
    people.filter(lambda person: person.id == 1).map(
        lambda person: (person.id, json.dumps(_next_number(person.info)))
    ).print()
    env.execute()

    def country_and_number(person):
        info = json.loads(person.info)
        return info["addr"]["country"], info["tel"]

    people.map(country_and_number).key_by(lambda pair: pair[0]).sum(1).print()
    env.execute()


def process_json_data(env):
    people = env.from_collection(PEOPLE).map(lambda person: (person[0], _next_number(person[1])))
    people.filter(lambda person: person[1]["addr"]["country"] == "China").print()
    env.execute()


class Total(KeyedProcessFunction):
    """Adds up in a state of 32-bit floats, which forgets after a second."""

    def __init__(self, field):
        self.field = field

    def open(self, runtime_context):
        time_to_live = StateTtlConfig.new_builder(Time.seconds(1))
        time_to_live.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite).disable_cleanup_in_background()
        descriptor = ValueStateDescriptor("total", Types.FLOAT())
        descriptor.enable_time_to_live(time_to_live.build())
        self.total = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        total = (self.total.value() or 0) + value[self.field]
        self.total.update(total)
        yield value[0], total


PAYMENTS = [
    (1000, "Alice", 110.1),
    (4000, "Bob", 30.2),
    (3000, "Alice", 20.0),
    (2000, "Bob", 53.1),
    (5000, "Alice", 13.1),
    (3000, "Bob", 3.1),
    (7000, "Bob", 16.1),
    (10000, "Alice", 20.1),
]


def state_access(env):
    payments = [payment[1:] for payment in PAYMENTS]
    stream = env.from_collection(payments, Types.TUPLE([Types.STRING(), Types.FLOAT()]))
    stream.key_by(lambda payment: payment[0]).process(Total(1)).print()
    env.execute()


class TotalByTimer(Total):
    def process_element(self, value, ctx):
        list(super().process_element(value, ctx))
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 2000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.total.value()


class Field(TimestampAssigner):
    def __init__(self, field):
        self.field = field

    def extract_timestamp(self, value, record_timestamp):
        return int(value[self.field])


def event_time_timer(env):
    stream = env.from_collection(PAYMENTS, Types.TUPLE([Types.LONG(), Types.STRING(), Types.FLOAT()]))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2)).with_timestamp_assigner(Field(0))
    stream = stream.assign_timestamps_and_watermarks(strategy)
    stream.key_by(lambda payment: payment[1]).process(TotalByTimer(2)).print()
    env.execute()


def word_count(env):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    lines = Path(__file__).with_name("hamlet.txt").read_text().splitlines()
    words = env.from_collection(lines).flat_map(lambda line: iter(line.split()))
    pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
    pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).print()
    env.execute()


class CountOfWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, len(list(elements))


def _windows(env, times, assigner):
    env.set_parallelism(1)
    events = env.from_collection([("hi", time) for time in times], Types.TUPLE([Types.STRING(), Types.INT()]))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Field(1))
    windows = events.assign_timestamps_and_watermarks(strategy).key_by(lambda e: e[0], Types.STRING()).window(assigner)
    windows.process(CountOfWindow(), Types.TUPLE([Types.STRING(), Types.INT(), Types.INT(), Types.INT()])).print()
    env.execute()


class SecondField(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[1]


def session_with_dynamic_gap_window(env):
    _windows(env, [1, 2, 3, 4, 8, 9, 15], EventTimeSessionWindows.with_dynamic_gap(SecondField()))


def session_with_gap_window(env):
    _windows(env, [1, 2, 3, 4, 8, 9, 15], EventTimeSessionWindows.with_gap(Time.milliseconds(5)))


def sliding_time_window(env):
    windows = SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(2))
    _windows(env, [1, 2, 3, 4, 5, 8, 9, 15], windows)


def tumbling_time_window(env):
    _windows(env, [1, 2, 3, 4, 5, 8, 9, 15], TumblingEventTimeWindows.of(Time.milliseconds(5)))


class SumOfWindow(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, sum(number for number, _ in inputs))]


def tumbling_count_window(env):
    env.set_parallelism(1)
    pairs = [(1, "hi"), (2, "hello"), (3, "hi"), (4, "hello"), (5, "hi"), (6, "hello"), (6, "hello")]
    stream = env.from_collection(pairs, Types.TUPLE([Types.INT(), Types.STRING()]))
    sums = stream.key_by(lambda pair: pair[1], Types.STRING()).count_window(2)
    sums.apply(SumOfWindow(), Types.TUPLE([Types.STRING(), Types.INT()])).print()
    env.execute()
