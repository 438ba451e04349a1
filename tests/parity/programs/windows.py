"""Windows of time and count, keyed and not, with all functions on them."""

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

EVENTS = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5), ("a", 8), ("a", 9), ("b", 11), ("a", 15)]
EVENT = Types.TUPLE([Types.STRING(), Types.INT()])


MODES = ("STREAMING",)


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return int(value[1])


def _events(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    return env.from_collection(EVENTS, EVENT).assign_timestamps_and_watermarks(strategy)


def _keyed(env):
    return _events(env).key_by(lambda e: e[0], key_type=Types.STRING())


class Elements(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield f"{key} {window.start}-{window.end} {[element[1] for element in elements]}"


class ElementsOfCount(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{key} {[element[1] for element in elements]}"


def tumbling_windows(env):
    return _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(5))).process(Elements(), Types.STRING())


def tumbling_windows_with_an_offset(env):
    windows = TumblingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(2))
    return _keyed(env).window(windows).process(Elements(), Types.STRING())


def sliding_windows(env):
    windows = SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(2))
    return _keyed(env).window(windows).process(Elements(), Types.STRING())


def sliding_windows_with_gaps(env):
    windows = SlidingEventTimeWindows.of(Time.milliseconds(2), Time.milliseconds(5))
    return _keyed(env).window(windows).process(Elements(), Types.STRING())


def session_windows(env):
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(3))
    return _keyed(env).window(windows).process(Elements(), Types.STRING())


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 1 if element[0] == "b" else element[1]


def session_windows_with_a_dynamic_gap(env):
    return _keyed(env).window(EventTimeSessionWindows.with_dynamic_gap(Gap())).process(Elements(), Types.STRING())


def count_windows(env):
    return _keyed(env).count_window(2).process(ElementsOfCount(), Types.STRING())


def sliding_count_windows(env):
    return _keyed(env).count_window(3, 2).process(ElementsOfCount(), Types.STRING())


class CountOf(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, len(list(inputs)))]


def a_window_function(env):
    windows = TumblingEventTimeWindows.of(Time.milliseconds(5))
    return _keyed(env).window(windows).apply(CountOf(), EVENT)


def a_reduce_in_windows(env):
    windows = TumblingEventTimeWindows.of(Time.milliseconds(5))
    return _keyed(env).window(windows).reduce(lambda a, b: (a[0], a[1] + b[1]))


class Larger(ReduceFunction):
    def reduce(self, value1, value2):
        return max(value1, value2)


def a_reduce_with_a_window_function(env):
    windows = SlidingEventTimeWindows.of(Time.milliseconds(6), Time.milliseconds(3))
    return _keyed(env).window(windows).reduce(Larger(), Elements(), Types.STRING())


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])


def an_aggregate_in_windows(env):
    windows = TumblingEventTimeWindows.of(Time.milliseconds(5))
    return _keyed(env).window(windows).aggregate(Average(), accumulator_type=PAIR, output_type=Types.DOUBLE())


def an_aggregate_in_sessions(env):
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(3))
    return _keyed(env).window(windows).aggregate(Average(), accumulator_type=PAIR, output_type=Types.DOUBLE())


class Result(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{key} {context.window().max_timestamp()} {list(elements)}"


def an_aggregate_with_a_window_function(env):
    windows = TumblingEventTimeWindows.of(Time.milliseconds(5))
    return _keyed(env).window(windows).aggregate(Average(), Result(), PAIR, Types.STRING())


class SumFromEight(Average):
    """Has no result while the sum is small."""

    def get_result(self, accumulator):
        return float(accumulator[0]) if accumulator[0] >= 8 else None


def an_aggregate_without_a_result(env):
    windows = TumblingEventTimeWindows.of(Time.milliseconds(5))
    return _keyed(env).window(windows).aggregate(SumFromEight(), accumulator_type=PAIR, output_type=Types.DOUBLE())


def an_aggregate_without_a_result_in_sessions(env):
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(3))
    return _keyed(env).window(windows).aggregate(SumFromEight(), accumulator_type=PAIR, output_type=Types.DOUBLE())


def an_aggregate_without_a_result_with_a_window_function(env):
    windows = TumblingEventTimeWindows.of(Time.milliseconds(5))
    return _keyed(env).window(windows).aggregate(SumFromEight(), Result(), PAIR, Types.STRING())


def an_aggregate_without_a_result_that_is_to_be_purged(env):
    windows = _keyed(env).window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2)))
    return windows.aggregate(SumFromEight(), accumulator_type=PAIR, output_type=Types.DOUBLE())


class StatesOf(ProcessWindowFunction):
    def process(self, key, context, elements):
        all_of_key = context.global_state().get_state(ValueStateDescriptor("windows", Types.INT()))
        all_of_key.update((all_of_key.value() or 0) + 1)
        of_window = context.window_state().get_state(ValueStateDescriptor("firings", Types.INT()))
        of_window.update((of_window.value() or 0) + 1)
        yield f"{key} {context.window().start} {all_of_key.value()} {of_window.value()}"

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("firings", Types.INT())).clear()


def state_of_windows(env):
    return _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(5))).process(StatesOf(), Types.STRING())


def a_count_trigger(env):
    windows = _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
    return windows.trigger(CountTrigger.of(2)).process(Elements(), Types.STRING())


def a_purging_trigger(env):
    windows = _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
    return windows.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Elements(), Types.STRING())


def an_event_time_trigger(env):
    windows = _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(5))).trigger(EventTimeTrigger.create())
    return windows.process(Elements(), Types.STRING())


def global_windows_with_a_count_trigger(env):
    windows = _keyed(env).window(GlobalWindows.create()).trigger(CountTrigger.of(3))
    return windows.process(ElementsOfCount(), Types.STRING())


class AllElements(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield f"{context.window().start} {sorted(elements)}"


def windows_of_all_records(env):
    windows = _events(env).window_all(TumblingEventTimeWindows.of(Time.milliseconds(5)))
    return windows.process(AllElements(), Types.STRING())


class AllCount(AllWindowFunction):
    def apply(self, window, inputs):
        return [len(list(inputs))]


def count_windows_of_all_records(env):
    return _events(env).window_all(CountTumblingWindowAssigner.of(4)).apply(AllCount(), Types.INT())


def assigners_of_count(env):
    tumbling = _keyed(env).window(CountTumblingWindowAssigner.of(2)).process(ElementsOfCount(), Types.STRING())
    sliding = _keyed(env).window(CountSlidingWindowAssigner.of(4, 2)).process(ElementsOfCount(), Types.STRING())
    return {"tumbling": tumbling, "sliding": sliding}


class Stamped(ProcessFunction):
    def process_element(self, value, ctx):
        yield f"{value} {ctx.timestamp()}"


def the_timestamp_of_a_result(env):
    windows = _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
    return windows.reduce(lambda a, b: (a[0], a[1] + b[1])).process(Stamped(), Types.STRING())


def windows_after_windows(env):
    first = (
        _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(5))).reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    return first.window_all(TumblingEventTimeWindows.of(Time.milliseconds(10))).process(AllElements(), Types.STRING())


ORDER_VARIES = (
    "tumbling_windows",
    "tumbling_windows_with_an_offset",
    "sliding_windows",
    "sliding_windows_with_gaps",
    "session_windows",
    "session_windows_with_a_dynamic_gap",
    "a_window_function",
    "a_reduce_in_windows",
    "a_reduce_with_a_window_function",
    "an_aggregate_in_windows",
    "an_aggregate_in_sessions",
    "an_aggregate_with_a_window_function",
    "an_aggregate_without_a_result",
    "an_aggregate_without_a_result_in_sessions",
    "an_aggregate_without_a_result_with_a_window_function",
    "an_aggregate_without_a_result_that_is_to_be_purged",
    "state_of_windows",
    "an_event_time_trigger",
    "the_timestamp_of_a_result",
)
