"""A call of 10 ms for every record in Penstock, at most 100 of each subtask at the same time: JSON files."""

from __future__ import annotations

import asyncio

from common.contender import parse_arguments
from common.inputs import stateless_filter, stateless_map
from common.penstock_job import RECORD_TYPE, make_environment, run_counted
from penstock.common import Row, Time, Types
from penstock.datastream import AsyncDataStream, AsyncFunction
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat

CALL_SECONDS = 0.01
CAPACITY = 100


class MapAndFilter(AsyncFunction[Row, int]):
    """The map and filter of the stateless benchmark, by a service that takes its time."""

    async def async_invoke(self, value: Row) -> list[int]:
        await asyncio.sleep(CALL_SECONDS)
        mapped = stateless_map(*value)
        return [mapped] if stateless_filter(mapped) else []


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(RECORD_TYPE))
    records = env.from_source(source, source_name="records")
    called = AsyncDataStream.unordered_wait(records, MapAndFilter(), Time.seconds(60), CAPACITY, Types.LONG())
    run_counted(env, called, arguments)


if __name__ == "__main__":
    main()
