"""What `print()` shows: each expectation is what PyFlink 2.3.0 printed for the same program, without the identifier."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal

import pytest

from penstock.common import Configuration, Row, Types
from penstock.datastream import DataStream, StreamExecutionEnvironment

PAIR = Types.TUPLE([Types.INT(), Types.BOOLEAN()])
FIVE = Types.TUPLE([Types.INT(), Types.STRING(), Types.BOOLEAN(), Types.STRING(), Types.DOUBLE()])
MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5)

Program = Callable[[StreamExecutionEnvironment], DataStream]


def printed(program: Program, capsys: pytest.CaptureFixture[str]) -> list[str]:
    configuration = Configuration().set_string("execution.engine", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    program(env).print()
    env.execute()
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("program", "lines"),
    [
        (lambda env: env.from_collection(["a", "b"]), ["a", "b"]),
        (lambda env: env.from_collection([True]), ["True"]),
        (lambda env: env.from_collection([(1, "a", True, None, 1e16)]), ["(1, 'a', True, None, 1e+16)"]),
        (lambda env: env.from_collection([Row(1, "a", None)]), ["<Row(1, 'a', None)>"]),
        (lambda env: env.from_collection([Row(x=1, y="a", z=True)]), ["Row(x=1, y='a', z=True)"]),
        (lambda env: env.from_collection([[1, "a"], {"k": 1.5}, {"s"}]), ["[1, 'a']", "{'k': 1.5}", "{'s'}"]),
        (lambda env: env.from_collection([MOMENT]), ["2024-01-02 03:04:05"]),
        (lambda env: env.from_collection([1, 2], Types.INT()).map(lambda x: (x, None)), ["(1, None)", "(2, None)"]),
        (lambda env: env.from_collection([1]).map(lambda x: Row(a=x, b=None)), ["Row(a=1, b=None)"]),
        (lambda env: env.from_collection([1]).map(lambda x: x > 0), ["True"]),
        (lambda env: env.from_collection([(1, True)]).filter(lambda _: True), ["(1, True)"]),
        (lambda env: env.from_collection([(1, True)]).key_by(lambda x: x[0]), ["(1, True)"]),
        (lambda env: env.from_collection([(1, True)], PAIR).key_by(lambda x: x[0]).map(lambda x: x), ["(1, True)"]),
    ],
)
def test_records_of_no_declared_type_print_as_in_python(
    program: Program, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(program, capsys) == lines


@pytest.mark.parametrize(
    ("program", "lines"),
    [
        (lambda env: env.from_collection(["a"], Types.STRING()), ["a"]),
        (lambda env: env.from_collection([1e16, 0.1], Types.DOUBLE()), ["1.0E16", "0.1"]),
        (lambda env: env.from_collection([True, False], Types.BOOLEAN()), ["true", "false"]),
        (lambda env: env.from_collection([(1, "a", True, None, 1e16)], FIVE), ["(1,a,true,null,1.0E16)"]),
        (
            lambda env: env.from_collection(
                [Row(1, "a", None)], Types.ROW([Types.INT(), Types.STRING(), Types.BOOLEAN()])
            ),
            ["+I[1,a,None]"],
        ),
        (
            lambda env: env.from_collection(
                [Row(x=1, y="a")], Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])
            ),
            ["+I[1,a]"],
        ),
        (lambda env: env.from_collection([{"k": 1.5}], Types.MAP(Types.STRING(), Types.DOUBLE())), ["{k=1.5}"]),
        (
            lambda env: env.from_collection([MOMENT, MOMENT.replace(microsecond=120_000)], Types.SQL_TIMESTAMP()),
            ["2024-01-02 03:04:05.0", "2024-01-02 03:04:05.12"],
        ),
        (lambda env: env.from_collection([MOMENT.date()], Types.SQL_DATE()), ["2024-01-02"]),
        (lambda env: env.from_collection([datetime.time(1, 2, 3)], Types.SQL_TIME()), ["01:02:03"]),
        (lambda env: env.from_collection([Decimal("1.50")], Types.BIG_DEC()), ["1.50"]),
        (
            lambda env: env.from_collection([1, 2]).map(
                lambda x: (x, "a"), output_type=Types.TUPLE([Types.INT(), Types.STRING()])
            ),
            ["(1,a)", "(2,a)"],
        ),
        (
            lambda env: env.from_collection([1]).map(
                lambda x: Row(x, True), output_type=Types.ROW([Types.INT(), Types.BOOLEAN()])
            ),
            ["+I[1,True]"],
        ),
        (lambda env: env.from_collection([1]).map(lambda _: ["a", "b"], Types.LIST(Types.STRING())), ["[a, b]"]),
        (lambda env: env.from_collection([(1, True)], PAIR).filter(lambda _: True), ["(1,true)"]),
        (lambda env: env.from_collection([(1, True)], PAIR).key_by(lambda x: x[0]), ["(1,true)"]),
        (
            lambda env: env.from_collection([(1, True)], PAIR).key_by(lambda x: x[0]).reduce(lambda _, new: new),
            ["(1,true)"],
        ),
    ],
)
def test_records_of_a_declared_type_print_as_in_flink(
    program: Program, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(program, capsys) == lines
