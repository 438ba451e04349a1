"""A program that is started on a checkpoint whose state it cannot take up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types
from penstock.common.errors import JobExecutionException
from penstock.common.typeinfo import TypeInformation
from penstock.datastream import KeyedProcessFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.testing import ScriptedSource, fail, local_environment, pause, record
from penstock.testing.memory_sink import MemorySink


class Newest(KeyedProcessFunction):
    """Keeps the newest value of a key, as one of a type."""

    def __init__(self, of_type: TypeInformation) -> None:
        self.of_type = of_type

    def open(self, runtime_context: Any) -> None:
        self.newest = runtime_context.get_state(ValueStateDescriptor("newest", self.of_type))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.newest.update(value)
        yield value


def run(directory: Path, of_type: TypeInformation, strategy: str) -> tuple[str, int]:
    options = Configuration().set_string("execution.checkpointing.dir", str(directory))
    options.set_string("execution.epoch.max-records", "1")
    options.set_string("restart-strategy.type", strategy).set_string("restart-strategy.fixed-delay.attempts", "3")
    env = local_environment(options)
    values = env.from_source(ScriptedSource([record(1), pause("1 min"), fail(), record("one")])).uid("values")
    values.key_by(lambda _: 0).process(Newest(of_type)).uid("newest").sink_to(MemorySink()).uid("out")
    client = env.execute_async()
    with pytest.raises(JobExecutionException) as failure:
        client.wait()
    return str(failure.value), client.metrics()["restarts"]


def test_no_restart_is_tried_where_state_does_not_fit_the_program(tmp_path: Path) -> None:
    run(tmp_path, Types.LONG(), "none")
    told, restarts = run(tmp_path, Types.STRING(), "fixed-delay")
    assert "state 'newest' of operator 'newest' does not fit the program: stored as Long, declared as String" in told
    assert restarts == 0
