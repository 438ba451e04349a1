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
from pyflink.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
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


def _stamped(windows):
    return windows.process(ElementsOfCount(), Types.STRING()).process(Stamped(), Types.STRING())


def the_timestamp_of_a_result_of_a_count(env):
    return {
        "tumbling": _stamped(_keyed(env).count_window(2)),
        "sliding": _stamped(_keyed(env).count_window(3, 2)),
        "reduce": _keyed(env).count_window(2).reduce(lambda a, b: b).process(Stamped(), Types.STRING()),
        "global": _stamped(_keyed(env).window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2)))),
    }


def the_timestamp_of_a_result_before_the_end(env):
    return _stamped(_keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(100))).trigger(CountTrigger.of(2)))


def windows_of_time_after_windows_of_a_count(env):
    counted = _keyed(env).count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1]))
    return counted.window_all(TumblingEventTimeWindows.of(Time.milliseconds(4))).process(AllElements(), Types.STRING())


def a_continuous_trigger(env):
    windows = _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    return windows.trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(5))).process(Elements(), Types.STRING())


class Told(ProcessWindowFunction):
    def process(self, key, context, elements):
        window, kind = context.window(), type(elements).__name__
        yield f"{key} {window} {kind} {context.current_watermark()} {context.current_processing_time() > 0}"
        yield f"{window == TimeWindow(window.start, window.end)} {window.cover(TimeWindow(100, 200))} {len(elements)}"


def what_a_window_function_is_told(env):
    return _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(5))).process(Told(), Types.STRING())


class Third(Trigger):
    """Fires at the third record and at the end, then purges."""

    count = ReducingStateDescriptor("count", lambda a, b: a + b, Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        count = ctx.get_partitioned_state(self.count)
        count.add(1)
        return TriggerResult.FIRE if count.get() == 3 else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE_AND_PURGE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self):
        return True

    def on_merge(self, window, ctx):
        ctx.merge_partitioned_state(self.count)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.count).clear()
        ctx.delete_event_time_timer(window.max_timestamp())


def a_trigger_of_ones_own(env):
    tumbling = _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(10))).trigger(Third())
    sessions = _keyed(env).window(EventTimeSessionWindows.with_gap(Time.milliseconds(5))).trigger(Third())
    return {"tumbling": tumbling.process(Elements(), Types.STRING()), "sessions": sessions.reduce(lambda a, b: b)}


class AllAndOwn(WindowAssigner):
    """One window for everything, and one of ten milliseconds."""

    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(0, 100), TimeWindow(timestamp - timestamp % 10, timestamp - timestamp % 10 + 10)]

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


def an_assigner_of_ones_own(env):
    return _keyed(env).window(AllAndOwn()).process(Elements(), Types.STRING())


def windows_before_1970(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    events = env.from_collection([("a", -11), ("a", -5), ("a", -1), ("a", 0), ("a", 7)], EVENT)
    keyed = events.assign_timestamps_and_watermarks(strategy).key_by(lambda e: e[0], key_type=Types.STRING())
    tumbling = TumblingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(-3))
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(2), Time.milliseconds(1))
    return {
        "tumbling": keyed.window(tumbling).process(Elements(), Types.STRING()),
        "sliding": keyed.window(sliding).process(Elements(), Types.STRING()),
    }


def an_aggregate_with_a_function_of_windows(env):
    windows = _keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
    return windows.aggregate(Average(), InWords(), PAIR, Types.STRING())


class InWords(WindowFunction):
    def apply(self, key, window, inputs):
        yield f"{key} {window} {list(inputs)}"


ORDER_VARIES = (
    "what_a_window_function_is_told",
    "a_trigger_of_ones_own",
    "an_assigner_of_ones_own",
    "an_aggregate_with_a_function_of_windows",
    "a_continuous_trigger",
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
