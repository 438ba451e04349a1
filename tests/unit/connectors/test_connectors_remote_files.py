"""Files on file systems that are not the local disk: fsspec's in memory, and a store that speaks S3's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import fsspec
import pytest

from penstock.common import Configuration, Encoder, Types
from penstock.common.errors import JobExecutionException
from penstock.connectors.files import file_system
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    FileSource,
    ParquetFormat,
    StreamFormat,
    TextLineFormat,
)
from services.object_store import running_object_store


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("execution.epoch.max-records", "10")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


@dataclass
class Storage:
    """A bucket, seen from beside."""

    uri: str
    objects: Any
    """By names that begin with the bucket."""

    def put(self, path: str, content: bytes) -> None:
        self.objects[f"{self.uri.partition('://')[2]}/{path}"] = content

    def content(self, directory: str) -> dict[str, bytes]:
        """All files below a directory, by their paths in it."""
        prefix = f"{self.uri.partition('://')[2]}/{directory}/"
        # Stores of objects may have empty ones in the place of directories.
        return {
            name.lstrip("/").removeprefix(prefix): bytes(content)
            for name, content in self.objects.items()
            if name.lstrip("/").startswith(prefix) and not name.endswith("/")
        }


class _MemoryFiles(dict[str, bytes]):
    """The files of fsspec's file system in memory."""

    def __setitem__(self, name: str, content: bytes) -> None:
        fsspec.filesystem("memory").pipe(f"/{name}", content)

    def items(self) -> Any:
        system = fsspec.filesystem("memory")
        return [(name, system.cat(name)) for name in system.find("/")]


@pytest.fixture
def memory() -> Iterator[Storage]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield Storage("memory://bucket", _MemoryFiles())
    system.store.clear()


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    with running_object_store() as store:
        for name, value in store.environment().items():
            monkeypatch.setenv(name, value)
        file_system._arrow_file_system.cache_clear()
        yield Storage("s3://bucket", store.objects)
        file_system._arrow_file_system.cache_clear()


@pytest.fixture(params=["memory", "s3"])
def storage(request: pytest.FixtureRequest) -> Storage:
    return request.getfixturevalue(request.param)


def test_lines_go_through_a_job(env, storage):
    for part in range(3):
        storage.put(f"in/{part}.txt", "".join(f"{part}-{n}\n" for n in range(20)).encode())
    lines = env.from_source(
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{storage.uri}/in").build()
    )
    sink = FileSink.for_row_format(f"{storage.uri}/out", Encoder.simple_string_encoder())
    lines.sink_to(sink.with_bucket_assigner(BucketAssigner.by(lambda line: f"part={line[0]}")).build())
    env.execute()
    written = storage.content("out")
    visible = {name: content for name, content in written.items() if not name.startswith(".penstock/")}
    assert {name.split("/")[0] for name in visible} == {"part=0", "part=1", "part=2"}
    content = [line for text in visible.values() for line in text.decode().splitlines()]
    assert sorted(content) == sorted(f"{part}-{n}" for part in range(3) for n in range(20))
    assert not [name for name in written if "/staged/" in name]


def test_parquet_is_read_back(env, storage):
    rows = env.from_collection([(n, str(n)) for n in range(50)], Types.TUPLE([Types.LONG(), Types.STRING()]))
    rows.sink_to(FileSink(f"{storage.uri}/table", "parquet", row_type="id BIGINT, name STRING"))
    env.execute()
    again = env.from_source(FileSource(f"{storage.uri}/table/part-*", ParquetFormat()))
    assert sorted(row.id for row in again.execute_and_collect()) == list(range(50))


def test_a_file_that_changes_is_noticed(memory, run_source):
    memory.put("in/a.txt", b"1\n")
    memory.put("in/b.txt", b"2\n")
    run = run_source(FileSource(f"{memory.uri}/in", TextLineFormat()))
    first = run.epoch(size=1)
    memory.put("in/a.txt", b"1\n2\n")
    memory.put("in/b.txt", b"1\n2\n")
    assert len(first) == 1
    with pytest.raises(Exception, match="was changed after the source had listed it"):
        run.epoch()


def test_a_store_that_is_gone_is_an_error_that_names_the_file(env, s3, monkeypatch):
    s3.put("in/a.txt", b"1\n2\n")
    source = FileSource(f"{s3.uri}/in", TextLineFormat())
    s3.objects.clear()
    with pytest.raises(JobExecutionException, match=r"s3://bucket/in"):
        list(env.from_source(source).execute_and_collect())
