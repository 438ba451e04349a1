"""Files on file systems that are not the local disk: here fsspec's in memory."""

from __future__ import annotations

import fsspec
import pytest

from penstock.common import Configuration, Encoder, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    FileSource,
    ParquetFormat,
    StreamFormat,
    TextLineFormat,
)


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("execution.epoch.max-records", "10")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


@pytest.fixture
def storage():
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def test_lines_go_through_a_job(env, storage):
    for part in range(3):
        storage.pipe(f"/bucket/in/{part}.txt", "".join(f"{part}-{n}\n" for n in range(20)).encode())
    lines = env.from_source(
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), "memory://bucket/in").build()
    )
    sink = FileSink.for_row_format("memory://bucket/out", Encoder.simple_string_encoder())
    lines.sink_to(sink.with_bucket_assigner(BucketAssigner.by(lambda line: f"part={line[0]}")).build())
    env.execute()
    names = [name for name in storage.find("/bucket/out") if "/.penstock/" not in name]
    assert {name.split("/")[3] for name in names} == {"part=0", "part=1", "part=2"}
    content = [line for name in names for line in storage.cat(name).decode().splitlines()]
    assert sorted(content) == sorted(f"{part}-{n}" for part in range(3) for n in range(20))
    assert not [name for name in storage.find("/bucket/out") if "/staged/" in name]


def test_parquet_is_read_back(env, storage):
    rows = env.from_collection([(n, str(n)) for n in range(50)], Types.TUPLE([Types.LONG(), Types.STRING()]))
    rows.sink_to(FileSink("memory://bucket/table", "parquet", row_type="id BIGINT, name STRING"))
    env.execute()
    again = env.from_source(FileSource("memory://bucket/table", ParquetFormat()))
    assert sorted(row.id for row in again.execute_and_collect()) == list(range(50))


def test_a_file_that_changes_is_noticed(storage, run_source):
    storage.pipe("/bucket/in/a.txt", b"1\n")
    storage.pipe("/bucket/in/b.txt", b"2\n")
    run = run_source(FileSource("memory://bucket/in", TextLineFormat()))
    first = run.epoch(size=1)
    storage.pipe("/bucket/in/a.txt", b"1\n2\n")
    storage.pipe("/bucket/in/b.txt", b"1\n2\n")
    assert len(first) == 1
    with pytest.raises(Exception, match="was changed after the source had listed it"):
        run.epoch()
