"""What joins refuse, at the user's line; keys of two streams; types of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from penstock.common import Configuration, Types
from penstock.common.errors import ArgumentError, PlanError
from penstock.datastream import (
    CoGroupFunction,
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import (
    EventTimeSessionWindows,
    GlobalWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from penstock.expressions import col

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
NUMBERS = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
AT_THE_END = GlobalWindows.create_with_end_of_stream_trigger()
WINDOW = TumblingEventTimeWindows.of(10)
TABLE = pd.DataFrame({"name": ["a"], "since": [0]})


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.engine", "local")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1), ("b", 2)], PAIR)


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([(1, 2.0)], NUMBERS)


def intervals(env: StreamExecutionEnvironment) -> Any:
    return pairs(env).key_by(0).interval_join(pairs(env).key_by(0))


class NoMerging(Trigger[Any, Any]):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    on_event_time = on_processing_time = on_element  # type: ignore[assignment]

    def on_merge(self, window: Any, ctx: Any) -> None: ...

    def clear(self, window: Any, ctx: Any) -> None: ...

    def can_merge(self) -> bool:
        return False


class Join(JoinFunction):
    def join(self, first: Any, second: Any) -> int:
        return 1


REFUSED: dict[str, tuple[Callable[[StreamExecutionEnvironment], object], type[Exception], str]] = {
    "no where": (lambda env: pairs(env).join(pairs(env)).window(WINDOW), PlanError, r"no `where\(\.\.\.\)` yet"),
    "no equal_to": (
        lambda env: pairs(env).co_group(pairs(env)).where(0).apply(lambda a, b: a),
        PlanError,
        r"apply: the co_group has no `equal_to\(\.\.\.\)` yet; write `stream1\.co_group\(stream2\)\.where",
    ),
    "no window": (
        lambda env: pairs(env).join(pairs(env)).where(0).equal_to(0).apply(Join()),
        PlanError,
        r"no `window\(\.\.\.\)` yet",
    ),
    "no stream": (lambda env: pairs(env).join([1]), ArgumentError, r"join: `stream` is \[1\] \(list\)"),
    "a stream of another program": (
        lambda env: pairs(env).co_group(StreamExecutionEnvironment.get_execution_environment().from_collection([1])),
        PlanError,
        "two environments",
    ),
    "an unknown kind": (
        lambda env: pairs(env).join(pairs(env), how="outer"),
        ArgumentError,
        '`how` is \'outer\' .*expected "inner" or "left" or "right" or "full"',
    ),
    "an unknown kind of interval join": (
        lambda env: pairs(env).key_by(0).interval_join(pairs(env).key_by(0), how="outer"),
        ArgumentError,
        '`how` is \'outer\' .*expected "inner" or "left" or "right" or "full"',
    ),
    "a full temporal join": (
        lambda env: pairs(env).key_by(0).temporal_join(pairs(env).key_by(0), how="full"),
        ArgumentError,
        'expected "inner" or "left"',
    ),
    "a field that is not there": (lambda env: pairs(env).join(pairs(env)).where("card"), PlanError, "where: the rec"),
    "keys of two types": (
        lambda env: pairs(env).join(numbers(env)).where(0).equal_to(0),
        PlanError,
        "equal_to: the keys have different types: String in the first stream, Long in the second",
    ),
    "a number and a fraction": (
        lambda env: pairs(env).key_by(1).interval_join(numbers(env).key_by(1)),
        PlanError,
        "interval_join: the keys have different types: Integer in the first stream, Double in the second",
    ),
    "keys of two types for versions": (
        lambda env: pairs(env).key_by([0, 1]).temporal_join(numbers(env).key_by([0, 1])),
        PlanError,
        "temporal_join: the keys have different types",
    ),
    "no window assigner": (
        lambda env: pairs(env).join(pairs(env)).where(0).equal_to(0).window("10 s"),
        ArgumentError,
        "`assigner` is '10 s'",
    ),
    "a negative lateness": (
        lambda env: pairs(env).join(pairs(env)).where(0).equal_to(0).window(WINDOW).allowed_lateness(-1),
        PlanError,
        "not negative",
    ),
    "a trigger that cannot merge": (
        lambda env: (
            pairs(env)
            .join(pairs(env))
            .where(0)
            .equal_to(0)
            .window(EventTimeSessionWindows.with_gap(5))
            .trigger(NoMerging())
        ),
        PlanError,
        "does not support windows that merge",
    ),
    "no join function": (
        lambda env: pairs(env).join(pairs(env)).where(0).equal_to(0).window(WINDOW).apply(None),
        ArgumentError,
        "expected a JoinFunction",
    ),
    "a class for a function": (
        lambda env: pairs(env).join(pairs(env)).where(0).equal_to(0).window(WINDOW).apply(Join),
        ArgumentError,
        r"write Join\(\.\.\.\)",
    ),
    "a class for a flat function": (
        lambda env: pairs(env).join(pairs(env)).where(0).equal_to(0).window(WINDOW).apply(TypedFlat),
        ArgumentError,
        r"write TypedFlat\(\.\.\.\)",
    ),
    "a join function for groups": (
        lambda env: pairs(env).co_group(pairs(env)).where(0).equal_to(0).window(WINDOW).apply(Join()),
        ArgumentError,
        "expected a CoGroupFunction",
    ),
    "a left stream without keys": (
        lambda env: pairs(env).interval_join(pairs(env).key_by(0)),
        PlanError,
        r"interval_join: the left stream is not keyed; call `key_by\(\.\.\.\)`",
    ),
    "a right stream without keys": (
        lambda env: pairs(env).key_by(0).interval_join(pairs(env)),
        PlanError,
        "interval_join: the right stream is not keyed",
    ),
    "versions without keys": (
        lambda env: pairs(env).key_by(0).temporal_join(pairs(env)),
        PlanError,
        "temporal_join: the stream of versions is not keyed",
    ),
    "no bounds": (lambda env: intervals(env).process(lambda a, b, c: []), PlanError, r"no `between\(\.\.\.\)` yet"),
    "bounds the wrong way round": (
        lambda env: intervals(env).between("5 s", "-5 s"),
        PlanError,
        "the lower bound '5 s' is above the upper bound '-5 s'",
    ),
    "a bound that is no time": (
        lambda env: intervals(env).between("soon", 5),
        ArgumentError,
        "`lower_bound` is 'soon'",
    ),
    "an interval without its bounds": (
        lambda env: intervals(env).between(3, 4).lower_bound_exclusive().upper_bound_exclusive().process(print),
        PlanError,
        "the interval from 3 to 4 ms is empty",
    ),
    "processing time": (lambda env: intervals(env).in_processing_time(), PlanError, "event time only"),
    "a tag that is none": (
        lambda env: intervals(env).between(0, 1).side_output_left_late_data("late"),
        ArgumentError,
        "an OutputTag",
    ),
    "a join function for intervals": (
        lambda env: intervals(env).between(0, 1).process(Join()),
        ArgumentError,
        "expected a ProcessJoinFunction",
    ),
    "no table": (lambda env: pairs(env).lookup_join([1], on="name"), ArgumentError, "expected a pandas DataFrame"),
    "no such column": (
        lambda env: pairs(env).lookup_join(TABLE, on="id", key=0),
        PlanError,
        "the table has no column 'id'; it has name, since",
    ),
    "no such column of times": (
        lambda env: pairs(env).lookup_join(TABLE, on="name", key=0, valid_from="from"),
        PlanError,
        "no column 'from'",
    ),
    "no such field": (lambda env: pairs(env).lookup_join(TABLE, on="name"), PlanError, "have no field 'name'"),
    "a key of another type than the column's": (
        lambda env: pairs(env).lookup_join(TABLE, on="name", key=1),
        PlanError,
        "lookup_join: the keys have different types",
    ),
    "a table of mixed types": (
        lambda env: pairs(env).lookup_join(pd.DataFrame({"name": ["a", 1]}), on="name", key=0),
        PlanError,
        "lookup_join: the DataFrame has a column of mixed types",
    ),
    "an unknown distribution": (
        lambda env: pairs(env).lookup_join(TABLE, on="name", key=0, distribution="hash"),
        ArgumentError,
        '"broadcast" or "keyed"',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_at_the_users_line(env: StreamExecutionEnvironment, case: str) -> None:
    build, error, message = REFUSED[case]
    with pytest.raises(error, match=message) as refusal:
        build(env)
    assert "test_datastream_joins.py:" in str(refusal.value)


def test_whole_numbers_of_different_size_are_the_same_keys(env: StreamExecutionEnvironment) -> None:
    joined = pairs(env).join(numbers(env)).where(1).equal_to(0)
    window = joined.window(AT_THE_END)
    assert list(window.apply(lambda pair, number: (pair, number)).execute_and_collect()) == [(("a", 1), (1, 2.0))]


def test_a_key_without_a_type_takes_that_of_the_other_stream(env: StreamExecutionEnvironment) -> None:
    """Ints are not the same keys as floats, but become floats where the other stream has such."""
    joined = numbers(env).join(env.from_collection([2])).where(col(1)).equal_to(lambda n: n)
    window = joined.window(AT_THE_END)
    assert list(window.apply(lambda first, second: second).execute_and_collect()) == [2]


def test_a_keyed_stream_is_joined_by_the_key_that_where_names(env: StreamExecutionEnvironment) -> None:
    joined = pairs(env).key_by(1).join(pairs(env).rebalance()).where(0).equal_to(0)
    window = joined.window(AT_THE_END)
    assert sorted(window.apply(lambda first, second: first + second).execute_and_collect()) == [
        ("a", 1, "a", 1),
        ("b", 2, "b", 2),
    ]


class Typed(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> list[str]:
        return ["a"]


class TypedFlat(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> list[str]:
        return ["a"]


class TypedGroup(CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> list[str]:
        return ["a"]


def test_annotations_say_the_type_of_the_results(env: StreamExecutionEnvironment) -> None:
    windows = lambda join: join.where(0).equal_to(0).window(WINDOW)  # noqa: E731
    join, group = pairs(env).join(pairs(env)), pairs(env).co_group(pairs(env))
    assert windows(join).apply(Join()).get_type() == Types.LONG()
    assert windows(join).apply(TypedFlat()).get_type() == Types.STRING()
    assert windows(join).apply(lambda a, b: a, PAIR).get_type() == PAIR
    assert windows(group).apply(TypedGroup()).get_type() == Types.STRING()
    assert intervals(env).between(0, 1).process(Typed()).get_type() == Types.STRING()


def test_plans_show_joins_with_two_keyed_inputs(env: StreamExecutionEnvironment) -> None:
    orders, payments = pairs(env), pairs(env)
    orders.key_by(0).interval_join(payments.key_by(0)).between("-1 s", "2 s").process(Typed()).print()
    orders.join(payments).where(1).equal_to(1).window(WINDOW).apply(Join()).print()
    explained = env.explain()
    for line in (
        "=> hash(f0) to stage 1, chain 2, [3] 'Interval Join' input 0",
        "=> hash(f0) to stage 1, chain 2, [3] 'Interval Join' input 1",
        "[3] IntervalJoin 'Interval Join' | keyed | type String |",
        "| Interval Join from -1000 to 2000 ms",
        "=> hash(f1) to stage 1, chain 3, [5] 'Window Join' input 1",
        "[5] CoGroup 'Window Join' | keyed | type Long |",
    ):
        assert line in explained


def test_plans_show_which_records_an_interval_join_lets_through(env: StreamExecutionEnvironment) -> None:
    pairs(env).key_by(0).interval_join(pairs(env).key_by(0), how="left").between(0, 5).process(Typed()).print()
    assert "| Left Interval Join from 0 to 5 ms" in env.explain()
