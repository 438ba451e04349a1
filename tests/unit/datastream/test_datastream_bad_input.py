"""Bad input: each is an error that says what is wrong, names the user's line, and comes as early as it can be known."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types
from penstock.common.errors import (
    ArgumentError,
    ConfigurationError,
    JobExecutionException,
    PlanError,
    TypeMismatchError,
    UnsupportedError,
)
from penstock.datastream import (
    BroadcastProcessFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    MemorySize,
    RuntimeContext,
    SinkFunction,
    SlotSharingGroup,
    SourceFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    """An engine that is never reached by what is known before: Spark is not there at all."""
    configuration = Configuration().set_string("execution.engine", "local")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1), ("b", 2)], PAIR)


class Sink(SinkFunction):
    def invoke(self, value: Any, context: Any) -> None: ...


class Source(SourceFunction):
    def run(self, ctx: Any) -> None: ...

    def cancel(self) -> None: ...


RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Listing(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.seen.update(5)  # type: ignore[arg-type]


class Misspelt(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return [value]

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(MapStateDescriptor("ruels")).put("a", 1)


class OnTheWrongSide(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put("a", 1)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None: ...


BEFORE_THE_JOB: dict[str, tuple[Callable[[StreamExecutionEnvironment], object], type[Exception], str]] = {
    "None for a stream": (lambda env: pairs(env).union(None), ArgumentError, "`stream` is None; expected a stream"),
    "None to connect": (lambda env: pairs(env).connect(None), ArgumentError, "`stream` is None; expected a stream"),
    "a list for a stream": (lambda env: pairs(env).union([1]), ArgumentError, r"`stream` is \[1\] \(list\)"),
    "None for a function": (lambda env: pairs(env).map(None), ArgumentError, "`func` is None; expected a function"),
    "a class for a function": (
        lambda env: pairs(env).map(MapFunction),
        ArgumentError,
        "an instance: write MapFunction",
    ),
    "None for a sink": (lambda env: pairs(env).sink_to(None), ArgumentError, "`sink` is None; expected a sink"),
    "a class for a sink function": (lambda env: pairs(env).add_sink(Sink), ArgumentError, r"write Sink\(\.\.\.\)"),
    "another function for a sink": (
        lambda env: pairs(env).add_sink(Source()),
        ArgumentError,
        "expected a SinkFunction",
    ),
    "None for a source": (lambda env: env.from_source(None, None, "x"), ArgumentError, "`source` is None"),
    "None for a source function": (lambda env: env.add_source(None), ArgumentError, "expected a SourceFunction"),
    "a class for a source function": (lambda env: env.add_source(Source), ArgumentError, r"write Source\(\.\.\.\)"),
    "None for a collection": (lambda env: env.from_collection(None), ArgumentError, "expected a list of records"),
    "text for a collection": (lambda env: env.from_collection("abc"), ArgumentError, "expected a list of records"),
    "None for a key": (lambda env: pairs(env).key_by(None), ArgumentError, "expected a function of one record"),
    "an unknown key": (lambda env: pairs(env).key_by("city"), PlanError, "no field 'city'; they have f0, f1"),
    "an unknown key of many": (lambda env: pairs(env).key_by(["f0", "city"]), PlanError, "no field 'city'"),
    "a key by name without types": (
        lambda env: pairs(env).map(lambda r: r).key_by("f0"),
        PlanError,
        "the records are Python objects of no declared type",
    ),
    "an unknown field to sum": (lambda env: pairs(env).key_by(0).sum(7), PlanError, "no field 7; they have f0, f1"),
    "None for a tag": (
        lambda env: pairs(env).process(lambda value, ctx: [value]).get_side_output(None),
        ArgumentError,
        "`output_tag` is None",
    ),
    "None for watermarks": (
        lambda env: pairs(env).assign_timestamps_and_watermarks(None),
        ArgumentError,
        "assign_timestamps_and_watermarks",
    ),
    "parallelism 0": (lambda env: pairs(env).map(str).set_parallelism(0), ArgumentError, r"`parallelism` is 0 \(int\)"),
    "parallelism 0 for all": (lambda env: env.set_parallelism(0), ArgumentError, r"`parallelism` is 0 \(int\)"),
    "parallelism as text": (lambda env: env.set_parallelism("2"), ArgumentError, r"`parallelism` is '2' \(str\)"),
    "max parallelism 0": (lambda env: env.set_max_parallelism(0), ArgumentError, "`max_parallelism` is 0"),
    "a collection on two subtasks": (
        lambda env: pairs(env).set_parallelism(2),
        PlanError,
        "'Collection Source' runs as one subtask",
    ),
    "more subtasks after all": (
        lambda env: pairs(env).map(str).force_non_parallel().set_parallelism(2),
        PlanError,
        "'Map' runs as one subtask",
    ),
    "an empty name": (lambda env: pairs(env).map(str).name(""), ArgumentError, "text that is not empty"),
    "None for a uid": (lambda env: pairs(env).map(str).uid(None), ArgumentError, "`uid` is None"),
    "a uid hash that is none": (
        lambda env: pairs(env).map(str).set_uid_hash("zz"),
        ArgumentError,
        "expected 32 hexadecimal digits",
    ),
    "a negative buffer timeout": (lambda env: env.set_buffer_timeout(-2), ArgumentError, "milliseconds, 0 or -1"),
    "no checkpoint interval": (lambda env: env.enable_checkpointing(0), ArgumentError, "milliseconds, from 1"),
    "no restart strategy": (lambda env: env.set_restart_strategy("fixed"), ArgumentError, "one of RestartStrategies"),
    "no listener": (lambda env: env.register_job_listener(print), ArgumentError, "expected a JobListener"),
    "a cached file without a name": (lambda env: env.register_cached_file("/x", ""), ArgumentError, "`name` is ''"),
    "a cached file of a bad name": (lambda env: env.register_cached_file("/x", "a,b"), ArgumentError, "text without"),
    "None for a field to sum": (
        lambda env: pairs(env).key_by(0).sum(None),
        ArgumentError,
        "`position_to_sum` is None; expected a field",
    ),
    "a fraction for a field": (lambda env: pairs(env).key_by(0).max(0.5), ArgumentError, r"is 0\.5 \(float\)"),
    "text for a number": (lambda env: env.from_sequence("a", 5), ArgumentError, r"`from_` is 'a' \(str\)"),
    "None for a number": (lambda env: env.generate_sequence(1, None), ArgumentError, "`to` is None"),
    "another class for a sink": (lambda env: pairs(env).add_sink(MapFunction), ArgumentError, "write MapFunction"),
    "a number for a job's name": (
        lambda env: (pairs(env).print(), env.execute(5)),
        ArgumentError,
        r"`job_name` is 5 \(int\)",
    ),
    "an impossible limit": (lambda env: pairs(env).execute_and_collect(limit=0), PlanError, r"`limit` is 0 \(int\)"),
    "a limit as text": (lambda env: pairs(env).execute_and_collect(limit="3"), PlanError, r"`limit` is '3' \(str\)"),
}


@pytest.mark.parametrize("mistake", BEFORE_THE_JOB)
def test_what_can_be_known_at_the_line_is_refused_there(env: StreamExecutionEnvironment, mistake: str) -> None:
    make, error, reason = BEFORE_THE_JOB[mistake]
    with pytest.raises(error, match=reason) as refused:
        make(env)
    assert f"at {__file__}:" in str(refused.value)


def test_a_value_of_another_type_is_refused_at_the_line(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(TypeMismatchError, match=r"(?s)from_collection: 'x'.*Integer.*at .*test_datastream_bad_input"):
        env.from_collection([1, "x"], Types.INT())


def test_resources_of_a_group_are_a_gap_that_is_named(env: StreamExecutionEnvironment) -> None:
    group = SlotSharingGroup.builder("big").set_task_heap_memory(MemorySize.of_mebi_bytes(512)).build()
    with pytest.raises(UnsupportedError, match=r"'big' asks for resources.*spark\.executor\.memory"):
        env.register_slot_sharing_group(group)
    with pytest.raises(UnsupportedError, match="'big' asks for resources"):
        pairs(env).map(str).slot_sharing_group(group)


def refusal(env: StreamExecutionEnvironment) -> str:
    """What `execute` says of a program before anything runs."""
    with pytest.raises(PlanError) as refused:
        env.execute()
    return str(refused.value)


def test_nothing_to_execute(env: StreamExecutionEnvironment) -> None:
    assert "there is nothing to execute" in refusal(env)


def test_a_source_without_a_sink(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1])
    message = refusal(env)
    assert "nothing consumes Source 'Collection Source'" in message
    assert f"{__file__}:" in message


def test_an_operator_without_a_sink(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(str)
    message = refusal(env)
    assert "sink" in message
    assert f"{__file__}:" in message


def test_two_operators_with_one_uid(env: StreamExecutionEnvironment) -> None:
    pairs(env).map(str).uid("same").map(str).uid("same").print()
    message = refusal(env)
    assert "two operators have the uid 'same'" in message
    assert message.count(f"{__file__}:") == 2


def test_an_operator_without_a_uid_where_each_must_have_one(env: StreamExecutionEnvironment) -> None:
    env.get_config().disable_auto_generated_uids()
    pairs(env).uid("source").map(str).uid("map").print()
    message = refusal(env)
    assert "'Print to Std. Out' has no uid" in message
    assert f"{__file__}:" in message


def test_more_subtasks_than_key_groups(env: StreamExecutionEnvironment) -> None:
    env.set_max_parallelism(1)
    pairs(env).key_by("f0").sum(1).print()
    assert "parallelism 2, above its max parallelism 1" in refusal(env)


def test_a_cycle(env: StreamExecutionEnvironment) -> None:
    first = pairs(env).map(str).name("First")
    last = first.map(str).name("Last")
    # No method makes one: somebody has worked on the operators themselves.
    first.operator("test").inputs = (last.upstreams,)
    last.print()
    message = refusal(env)
    assert "the program has a cycle" in message
    assert "'First'" in message
    assert "'Last'" in message
    assert f"{__file__}:" in message


def test_an_option_that_cannot_be_used() -> None:
    configuration = Configuration().set_string("execution.engine", "local").set_string("parallelism.default", "0")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match=r"parallelism\.default = '0' cannot be used: it must be at least 1"):
        env.execute()


IN_THE_JOB: dict[str, tuple[Callable[[StreamExecutionEnvironment], DataStream], str, str]] = {
    "a list for a key": (
        lambda env: env.from_collection([[1]]).key_by(lambda r: r).map(str),
        r"KeyEncodingError: \[1\] of class builtins\.list cannot be a key.*use a tuple",
        r"\[1\]",
    ),
    "an object for a key": (
        lambda env: pairs(env).key_by(lambda r: object()).map(str),
        "KeyEncodingError: .*of class builtins.object cannot be a key",
        r"\('a', 1\)",
    ),
    "a key that is not there": (
        lambda env: env.from_collection([{"id": 1}, {"name": 2}]).key_by(lambda r: r["id"]).map(str),
        "KeyError: 'id'",
        "{'name': 2}",
    ),
    "a key of another type": (
        lambda env: pairs(env).key_by(lambda r: r[0], Types.INT()).map(str),
        "TypeMismatchError: 'a' of Python type str does not fit the declared type Integer",
        r"\('a', 1\)",
    ),
    "a partition that is not there": (
        lambda env: pairs(env).partition_custom(lambda key, count: 99, lambda r: r[0]).map(str),
        "99",
        r"\('a', 1\)",
    ),
    "a result of another type": (
        lambda env: pairs(env).map(lambda r: r[0], Types.INT()).rebalance().map(str),
        "TypeMismatchError: 'a' of Python type str does not fit the declared type Integer",
        "'a'",
    ),
    "a field of another type": (
        lambda env: (
            pairs(env)
            .map(lambda r: Row(r[0], r[0]), Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()]))
            .rebalance()
            .map(str)
        ),
        "TypeMismatchError: field 'age': 'a' of Python type str does not fit the declared type Integer",
        "Row",
    ),
    "a printed result of another type": (
        lambda env: (pairs(env).map(lambda r: r[0], Types.INT()).print(), pairs(env))[1],
        "TypeMismatchError: 'a' of Python type str does not fit the declared type Integer; it comes from 'Map'",
        "'a'",
    ),
    "a sum that is too large": (
        lambda env: env.from_collection([("a", 2**31 - 1), ("a", 1)], PAIR).key_by(0).sum(1),
        "TypeMismatchError: 2147483648 .* does not fit the declared type Integer",
        r"\('a', 1\)",
    ),
    "a number where state takes a list": (
        lambda env: pairs(env).key_by(0).process(Listing()),
        r"(?!.*the function returned).*'int' object is not iterable",
        r"\('a', 1\)",
    ),
    "a broadcast state that nobody declared": (
        lambda env: pairs(env).connect(pairs(env).broadcast(RULES)).process(Misspelt()),
        "StateError: there is no broadcast state 'ruels', only 'rules'; give its descriptor to `broadcast",
        r"\('[ab]', [12]\)",
    ),
    "a change of broadcast state on the wrong side": (
        lambda env: pairs(env).connect(pairs(env).broadcast(RULES)).process(OnTheWrongSide()),
        "StateError: broadcast state 'rules' can only be read here",
        r"\('a', 1\)",
    ),
    "one value where many are taken": (
        lambda env: pairs(env).flat_map(lambda r: r[1]),
        "the function returned something of which results cannot be taken .*expected it to yield",
        r"\('a', 1\)",
    ),
    "one value of a process function": (
        lambda env: pairs(env).process(lambda value, ctx: value[1]),
        "the function returned something of which results cannot be taken",
        r"\('a', 1\)",
    ),
    "a generator where a value is taken": (
        lambda env: pairs(env).map(lambda r: (each for each in r)),
        "a record of class generator cannot be pickled",
        "generator",
    ),
    "a function of two arguments": (
        lambda env: pairs(env).map(lambda first, second: first),
        "TypeError: .*missing 1 required positional argument: 'second'",
        r"\('a', 1\)",
    ),
    "a sum of another type": (
        lambda env: env.from_collection([("a", 1), ("a", 2)], PAIR).key_by("f0").reduce(lambda a, b: ("a", "x")),
        "TypeMismatchError: .*'x'",
        r"\('a', 'x'\)",
    ),
}


@pytest.mark.parametrize("mistake", IN_THE_JOB)
def test_what_only_the_data_can_tell_names_record_and_line(env: StreamExecutionEnvironment, mistake: str) -> None:
    make, reason, record = IN_THE_JOB[mistake]
    with pytest.raises(JobExecutionException, match=f"(?s){reason}") as failed:
        list(make(env).execute_and_collect())
    message = str(failed.value)
    assert f"defined at: {__file__}:" in message
    assert failed.value.report is not None
    assert failed.value.report.record is not None
    assert re.search(record, failed.value.report.record)
