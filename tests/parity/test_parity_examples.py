"""PyFlink's examples, in words of our own, print what PyFlink's print, as recorded in `recorded/examples.json`."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout

import pytest

from parity import kit
from parity.pyflink_examples import EXAMPLES, printed_records
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

RECORDED = json.loads((kit.RECORDED / "examples.json").read_text())["examples"]
PROGRAMS = {program.name: program for program in kit.programs_of(kit.FOLDER / "example_programs.py", "penstock")}

IN_EVENT_TIME = [
    "event_time_timer",
    *(name for name, example in EXAMPLES.items() if example.path.startswith("windowing/")),
]


def test_every_example_is_here() -> None:
    assert PROGRAMS.keys() == EXAMPLES.keys() == RECORDED.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_prints_what_pyflink_prints(name: str) -> None:
    assert_prints_what_is_recorded(name, "local")


@pytest.mark.spark
@pytest.mark.parametrize("name", IN_EVENT_TIME)
def test_the_example_prints_the_same_on_spark(name: str) -> None:
    assert_prints_what_is_recorded(name, "spark")


def assert_prints_what_is_recorded(name: str, engine: str) -> None:
    configuration = Configuration().set_string("execution.engine", engine)
    with redirect_stdout(io.StringIO()) as output:
        PROGRAMS[name].build(StreamExecutionEnvironment.get_execution_environment(configuration))
    ours, theirs = printed_records(output.getvalue()), RECORDED[name]["printed"]
    if EXAMPLES[name].order_varies:
        ours, theirs = sorted(ours), sorted(theirs)
    assert ours == theirs
