"""The environment: options, plans as text, data that comes in as a whole."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from penstock.common import Configuration, Types
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.datastream.connectors.number_seq import NumberSequenceSource


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def test_options_are_copied_from_the_given_configuration() -> None:
    given = Configuration().set_string("parallelism.default", "6")
    env = StreamExecutionEnvironment.get_execution_environment(given)
    env.set_parallelism(3)
    assert (env.get_parallelism(), given.get_integer("parallelism.default", 0)) == (3, 6)


def test_the_default_parallelism_is_the_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3, 4}, raising=False)
    assert StreamExecutionEnvironment.get_execution_environment().get_parallelism() == 5


def test_options_that_are_added_replace_those_that_were_there(env: StreamExecutionEnvironment) -> None:
    env.configure(Configuration().set_string("parallelism.default", "9").set_string("own.option", "x"))
    assert env.get_parallelism() == 9
    assert env.configuration.get_string("own.option", "") == "x"


def test_the_runtime_mode_is_an_option(env: StreamExecutionEnvironment) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert env.configuration.get_string("execution.runtime-mode", "").endswith("BATCH")


def test_the_plan_as_text_shows_operators_and_exchanges(env: StreamExecutionEnvironment) -> None:
    env.from_collection([("a", 1)]).key_by("f0").sum(1).name("Totals").uid("totals").print()
    text = env.explain()
    assert "Source 'Collection Source'" in text
    assert "hash(f0)" in text
    assert "uid totals" in text


def test_the_plan_as_json_drawing_and_text_can_be_asked_for_again(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 3).print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [node["name"] for node in nodes] == ["Sequence Source", "Print to Std. Out"]
    assert "flowchart" in env.explain("mermaid")
    assert env.explain("svg").startswith("<svg")
    assert env.explain() == env.explain()


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_a_dataframe_has_the_types_of_its_columns(env: StreamExecutionEnvironment, make: Any) -> None:
    stream = env.from_dataframe(make({"name": ["a"], "amount": [1]}))
    assert stream.get_type() == Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.LONG()])


def test_a_source_has_the_name_it_is_given(env: StreamExecutionEnvironment) -> None:
    assert env.from_source(NumberSequenceSource(1, 2), None, "numbers", Types.LONG()).get_name() == "numbers"


def test_streams_of_an_executed_program_can_be_read_again(env: StreamExecutionEnvironment) -> None:
    env.configuration.set_string("execution.engine", "local")
    numbers = env.from_collection([1, 2, 3])
    numbers.map(str).print()
    env.execute()
    numbers.map(lambda n: -n).name("second").print()
    assert [node.name for node in env.get_plan().topological_order] == [
        "Collection Source",
        "second",
        "Print to Std. Out",
    ]
