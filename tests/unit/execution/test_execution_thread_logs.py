"""Lines that the threads of a job write say what they are about, like all others."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Configuration, Types
from penstock.common.logs import configure_logging
from penstock.connectors.collect_sink import CollectSink
from penstock.connectors.in_time import in_time
from penstock.datastream import AsyncDataStream, AsyncFunction, SourceFunction, StreamExecutionEnvironment

LOG = logging.getLogger("penstock.of-the-program")


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    logger = logging.getLogger("penstock")
    before = (list(logger.handlers), logger.level, logger.propagate)
    configure_logging("info", "json", stream := io.StringIO())
    yield stream
    logger.handlers[:], logger.level, logger.propagate = before[0], before[1], before[2]


class OneNumber(SourceFunction):
    def run(self, ctx: Any) -> None:
        LOG.info("source")
        ctx.collect(1)

    def cancel(self) -> None:
        return


class Ask(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        LOG.info("call")
        in_time(lambda: LOG.info("library"), 10, "a library")
        return [value]


def test_threads_of_sources_calls_and_publishing_name_the_job_and_the_operator(written: io.StringIO) -> None:
    configuration = Configuration().set_string("execution.engine", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    number = env.add_source(OneNumber(), "number", Types.LONG())
    asked = AsyncDataStream.unordered_wait(number, Ask(), "60 s", output_type=Types.LONG()).name("ask")
    asked.sink_to(CollectSink(lambda _: LOG.info("publishing"), Types.LONG())).name("collected")
    env.execute("talking")
    lines = [line for line in map(json.loads, written.getvalue().splitlines()) if line["logger"] == LOG.name]
    told = {line["message"]: (line.get("job"), line.get("operator")) for line in lines}
    chain = told["call"][1]
    assert "ask" in chain
    assert told == {
        "source": ("talking", "number"),
        "call": ("talking", chain),
        "library": ("talking", chain),
        "publishing": ("talking", "collected"),
    }
