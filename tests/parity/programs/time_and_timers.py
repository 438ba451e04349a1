"""Timestamps, watermarks and timers."""

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, TimeDomain
from pyflink.datastream.functions import KeyedCoProcessFunction, KeyedProcessFunction, ProcessFunction
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

EVENTS = [("a", 1000), ("b", 4000), ("a", 3000), ("b", 2000), ("a", 5000), ("b", 3000), ("b", 7000)]
EVENT = Types.TUPLE([Types.STRING(), Types.LONG()])


# PyFlink's Python process runs ahead of its timers in BATCH: some come late, and some programs do not end.
MODES = ("STREAMING",)


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def _events(env):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    events = env.from_collection(EVENTS, EVENT)
    return events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(SecondField()))


class Stamped(ProcessFunction):
    def process_element(self, value, ctx):
        yield f"{value} {ctx.timestamp()}"


def timestamps(env):
    return _events(env).process(Stamped(), Types.STRING())


def timestamps_stay_with_what_is_made_of_a_record(env):
    made = _events(env).map(lambda event: event[0], Types.STRING()).flat_map(lambda s: [s, s.upper()], Types.STRING())
    return made.filter(lambda s: s != "b").process(Stamped(), Types.STRING())


def timestamps_of_monotonous_events(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    events = env.from_collection([("a", 1), ("a", 2), ("a", 3)], EVENT)
    return events.assign_timestamps_and_watermarks(strategy).process(Stamped(), Types.STRING())


class EventTimers(KeyedProcessFunction):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        timers.register_event_time_timer(ctx.timestamp() + 2000)
        timers.register_event_time_timer(ctx.timestamp() + 2000)
        timers.register_event_time_timer(ctx.timestamp() + 1)
        timers.delete_event_time_timer(ctx.timestamp() + 1)

    def on_timer(self, timestamp, ctx):
        domain = "event" if ctx.time_domain() == TimeDomain.EVENT_TIME else "processing"
        yield f"{ctx.get_current_key()} {timestamp} {ctx.timestamp()} {domain}"


def event_time_timers(env):
    return _events(env).key_by(lambda e: e[0], Types.STRING()).process(EventTimers(), Types.STRING())


class Batching(KeyedProcessFunction):
    """Timers that register timers, with state."""

    def open(self, runtime_context):
        self.events = runtime_context.get_list_state(ListStateDescriptor("events", Types.LONG()))

    def process_element(self, value, ctx):
        self.events.add(value[1])
        ctx.timer_service().register_event_time_timer(10_000)

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} {timestamp} {sorted(self.events.get())}"
        if timestamp < 10_002:
            self.events.add(timestamp)
            ctx.timer_service().register_event_time_timer(timestamp + 1)


def timers_that_register_timers(env):
    return _events(env).key_by(lambda e: e[0], Types.STRING()).process(Batching(), Types.STRING())


class TimerSideOutput(KeyedProcessFunction):
    def __init__(self):
        self.late = OutputTag("late", Types.LONG())

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp, ctx):
        yield self.late, timestamp


def side_outputs_of_timers(env):
    timers = TimerSideOutput()
    main = _events(env).key_by(lambda e: e[0], Types.STRING()).process(timers, Types.STRING())
    return {"main": main, "late": main.get_side_output(timers.late)}


class WithoutTimestamps(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(5)
        yield f"seen {value}"

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} at {timestamp}"


def event_timers_without_timestamps_fire_at_the_end(env):
    return env.from_collection([1, 2, 1]).key_by(lambda n: n, Types.LONG()).process(WithoutTimestamps(), Types.STRING())


class FarAway(KeyedProcessFunction):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 3_600_000)
        yield f"seen {value}"

    def on_timer(self, timestamp, ctx):
        yield f"fired {ctx.get_current_key()}"


def processing_time_timers_at_the_end_of_input(env):
    return env.from_collection([1, 2]).key_by(lambda n: n, Types.LONG()).process(FarAway(), Types.STRING())


class JoinedByTime(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element1(self, value, ctx):
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(20_000)

    process_element2 = process_element1

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} {timestamp} {self.total.value()}"


def timers_of_two_inputs(env):
    first, second = _events(env), _events(env)
    return first.connect(second).key_by(lambda e: e[0], lambda e: e[0]).process(JoinedByTime(), Types.STRING())


def a_reduce_has_the_timestamp_of_its_record(env):
    reduced = _events(env).key_by(lambda e: e[0], Types.STRING()).reduce(lambda a, b: (a[0], a[1] + b[1]))
    return reduced.process(Stamped(), Types.STRING())


class Fractions(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 0.001


class Truth(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] > 2000


def timestamps_that_are_not_whole(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    events = env.from_collection([("a", 1500), ("a", -500), ("a", 2999)], EVENT)
    return {
        name: events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(assigner)).process(
            Stamped(), Types.STRING()
        )
        for name, assigner in (("fractions", Fractions()), ("truth", Truth()))
    }


class TimersOf(KeyedProcessFunction):
    def __init__(self, *times):
        self.times = times

    def process_element(self, value, ctx):
        for time in self.times:
            ctx.timer_service().register_event_time_timer(time)

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} {timestamp!r} {ctx.timer_service().current_watermark()}"


def timers_that_are_not_whole(env):
    return _events(env).key_by(lambda e: e[0], Types.STRING()).process(TimersOf(30.5, 30, 31.0), Types.STRING())


def timers_in_the_past_and_at_the_ends_of_time(env):
    times = TimersOf(-(2**63), -(2**63) + 1, -1000, 0, 2**63 - 1)
    return _events(env).key_by(lambda e: e[0], Types.STRING()).process(times, Types.STRING())


class Deleting(TimersOf):
    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} {timestamp}"
        ctx.timer_service().delete_event_time_timer(timestamp + 1)


def timers_that_delete_timers(env):
    return _events(env).key_by(lambda e: e[0], Types.STRING()).process(Deleting(20_001, 20_002), Types.STRING())


def idleness_behind_an_assigner(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    events = env.from_collection(EVENTS, EVENT)
    idle = events.assign_timestamps_and_watermarks(strategy.with_idleness(Duration.of_seconds(1)))
    return idle.process(Stamped(), Types.STRING())


def an_assigner_behind_idleness_and_alignment(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_seconds(1))
    strategy = strategy.with_watermark_alignment("g", Duration.of_seconds(10), Duration.of_seconds(1))
    events = env.from_collection(EVENTS, EVENT)
    timed = events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(SecondField()))
    return timed.process(Stamped(), Types.STRING())


class OneLater(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return 5 if record_timestamp < 0 else record_timestamp + 1


def an_assigner_is_given_the_timestamp_before(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OneLater())
    return {
        "first": env.from_collection(EVENTS, EVENT).assign_timestamps_and_watermarks(strategy),
        "second": _events(env).assign_timestamps_and_watermarks(strategy).process(Stamped(), Types.STRING()),
    }


ORDER_VARIES = (
    "timers_that_are_not_whole",
    "timers_in_the_past_and_at_the_ends_of_time",
    "timers_that_delete_timers",
    "timers_of_two_inputs",
    "event_time_timers",
    "side_outputs_of_timers",
    "timers_that_register_timers",
    "event_timers_without_timestamps_fire_at_the_end",
)
