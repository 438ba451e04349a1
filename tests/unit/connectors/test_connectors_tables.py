"""Delta Lake and Iceberg tables as sinks and sources."""

from __future__ import annotations

import pickle
import socket
import threading
from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from penstock.common import Configuration, Types, fail_points
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import JobExecutionException, SinkError, SourceError, UnsupportedError
from penstock.common.fail_points import SimulatedCrash
from penstock.connectors.files.file_system import LocalFileSystem
from penstock.connectors.sink import CommitterContext, EpochId, SinkWriterContext
from penstock.connectors.tables import delta, iceberg
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.delta import DeltaSink, DeltaSource
from penstock.datastream.connectors.file_system import CsvFormat, FileSource
from penstock.datastream.connectors.iceberg import IcebergSink, IcebergSource
from penstock.expressions import col
from penstock.state.storage import LocalCheckpointStorage

COLUMNS = "id BIGINT, price DECIMAL(10, 2)"
RECORD = Types.TUPLE([Types.LONG(), Types.BIG_DEC()])


def environment(directory: Path) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("execution.epoch.max-records", "4")
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def catalog_of(directory: Path) -> dict[str, str]:
    directory.mkdir(parents=True, exist_ok=True)
    return {"type": "sql", "uri": f"sqlite:///{directory}/catalog.db", "warehouse": f"file://{directory}/warehouse"}


def sink_of(kind: str, directory: Path, row_type=COLUMNS):
    if kind == "delta":
        return DeltaSink(str(directory / "table"), row_type)
    return IcebergSink("shop.payments", catalog_of(directory), row_type)


def source_of(kind: str, directory: Path, **options):
    if kind == "delta":
        return DeltaSource(str(directory / "table"), **options)
    return IcebergSource("shop.payments", catalog_of(directory), **options)


def content(kind: str, directory: Path) -> pa.Table:
    if kind == "delta":
        return deltalake.DeltaTable(str(directory / "table")).to_pyarrow_table()
    return load_catalog("default", **catalog_of(directory)).load_table("shop.payments").scan().to_arrow()


def write_input(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for part in range(3):
        lines = [f"{number},{number}.50\n" for number in range(part * 4, part * 4 + 4)]
        (directory / f"{part}.csv").write_text("".join(lines))


def run(kind: str, directory: Path, source: Path) -> None:
    env = environment(directory)
    records = env.from_source(FileSource(str(source), CsvFormat(COLUMNS)))
    records.sink_to(sink_of(kind, directory, row_type=COLUMNS)).uid("out")
    env.execute_async().wait(60)


@pytest.fixture(autouse=True)
def disarm():
    yield
    fail_points.arm(None)


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_rows_are_appended_and_read_back(tmp_path, kind):
    write_input(tmp_path / "in")
    run(kind, tmp_path, tmp_path / "in")
    table = content(kind, tmp_path)
    assert sorted(table.column("id").to_pylist()) == list(range(12))
    assert table.schema.field("price").type == pa.decimal128(10, 2)
    env = environment(tmp_path / "again")
    rows = list(env.from_source(source_of(kind, tmp_path)).execute_and_collect())
    assert sorted((row.id, row.price) for row in rows) == [(n, Decimal(f"{n}.50")) for n in range(12)]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_crash_while_publishing_appends_nothing_twice(tmp_path, kind):
    write_input(tmp_path / "in")
    for step, point in enumerate(("sink.table.moved", "sink.table.appended", "manifest.after", "publish.before")):
        directory = tmp_path / str(step)
        hits = iter(range(100))

        def crash(name: str, point: str = point, hits=hits) -> None:
            if name == point and next(hits) == 1:
                raise SimulatedCrash(name)

        fail_points.arm(crash)
        with pytest.raises(SimulatedCrash):
            run(kind, directory, tmp_path / "in")
        fail_points.arm(None)
        run(kind, directory, tmp_path / "in")
        assert Counter(content(kind, directory).column("id").to_pylist()) == Counter(range(12)), point


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_watched_table_gives_what_is_appended_once(tmp_path, kind, run_source):
    write_input(tmp_path / "in")
    run(kind, tmp_path, tmp_path / "in")
    reading = run_source(source_of(kind, tmp_path, watch="10 s"))
    assert len(reading.epoch(now=0)) == 12
    other = tmp_path / "more"
    write_input(other / "in")
    env = environment(other)
    env.from_collection([(100, Decimal("1.00"))], RECORD).sink_to(sink_of(kind, tmp_path)).uid("more")
    env.execute()
    assert reading.epoch(now=5_000) == []
    reading.restart()
    assert [row.id for row in reading.epoch(now=10_000)] == [100]
    assert reading.epoch(now=20_000) == []


def test_a_stream_of_a_table_whose_rows_were_deleted_is_an_error(tmp_path, run_source):
    write_input(tmp_path / "in")
    run("delta", tmp_path, tmp_path / "in")
    reading = run_source(source_of("delta", tmp_path, watch="10 s"))
    assert len(reading.epoch(now=0)) == 12
    deltalake.DeltaTable(str(tmp_path / "table")).delete("id = 3")
    with pytest.raises(SourceError, match="changes or deletes rows"):
        reading.epoch(now=10_000)
    assert len(run_source(source_of("delta", tmp_path)).epoch()) == 11


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_an_older_copy_of_the_checkpoint_is_refused(tmp_path, kind):
    write_input(tmp_path / "in")
    run(kind, tmp_path, tmp_path / "in")
    job = next(path.name.partition("-")[0] for path in tmp_path.rglob("*-part-out-*.parquet"))
    context = CommitterContext(job, "out", LocalCheckpointStorage(str(tmp_path / "checkpoint")))
    with pytest.raises(SinkError, match="older copy"):
        sink_of(kind, tmp_path).create_committer(context).recover(EpochId(1, 1))


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_epochs_without_output_make_no_commit(tmp_path, kind):
    env = environment(tmp_path)
    records = env.from_collection([(1, Decimal("1.00"))], RECORD).filter(lambda record: False)
    records.sink_to(sink_of(kind, tmp_path)).uid("out")
    env.execute()
    assert not (tmp_path / "table").exists()
    # Iceberg's table is made when the job starts.
    assert len(list(tmp_path.rglob("*.metadata.json"))) == (kind == "iceberg")


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_records_of_other_columns_are_refused(tmp_path, kind):
    write_input(tmp_path / "in")
    run(kind, tmp_path, tmp_path / "in")
    env = environment(tmp_path / "other")
    env.from_collection([("a",)], Types.TUPLE([Types.STRING()])).sink_to(sink_of(kind, tmp_path, "name STRING"))
    with pytest.raises(Exception, match="has no column name"):
        env.execute()


def test_what_is_not_there_or_not_supported_is_said(tmp_path):
    with pytest.raises(SourceError, match="no Delta table"):
        DeltaSource(str(tmp_path / "none"))
    with pytest.raises(SourceError, match=r"no Iceberg table shop\.payments"):
        source_of("iceberg", tmp_path)
    deltalake.write_deltalake(str(tmp_path / "parts"), pa.table({"a": [1], "b": [2]}), partition_by=["a"])
    env = environment(tmp_path / "parts-job")
    rows = env.from_collection([(1, 2)], Types.TUPLE([Types.LONG(), Types.LONG()]))
    rows.sink_to(DeltaSink(str(tmp_path / "parts"), "a BIGINT, b BIGINT"))
    with pytest.raises(JobExecutionException, match="is partitioned, and DeltaSink appends to plain ones"):
        env.execute()


def committed(directory: Path, epoch: EpochId) -> int:
    """Publishes an epoch of one record to a Delta table; returns how many rows the table has."""
    sink = DeltaSink(str(directory / "table"), "id BIGINT")
    storage = LocalCheckpointStorage(str(directory / "checkpoint"))
    writer = sink.create_writer(SinkWriterContext("job", "out", 0, 1, epoch, storage, "staging"))
    writer.write(Batch(codec_for(Types.TUPLE([Types.LONG()])), values=[(1,)]))
    sink.create_committer(CommitterContext("job", "out", storage)).commit(epoch, writer.prepare_commit())
    return content("delta", directory).num_rows


@pytest.mark.parametrize("is_there", [True, False])
def test_a_staged_file_that_is_gone_is_there_or_told(tmp_path, monkeypatch, is_there):
    """Another driver of the job, which is about to be stopped, may have moved it a moment before."""
    move = LocalFileSystem.move

    def gone(system, source, target):
        if is_there or "/staged/" in target:
            move(system, source, target)
        if "/staged/" not in target:
            raise FileNotFoundError(source)

    monkeypatch.setattr(LocalFileSystem, "move", gone)
    if is_there:
        assert committed(tmp_path, EpochId(1, 1)) == 1
    else:
        with pytest.raises(SinkError, match=r"records of epoch .* are lost: a staged file is gone"):
            committed(tmp_path, EpochId(1, 1))


@pytest.mark.parametrize("is_done", [False, True])
def test_a_commit_that_fails_for_a_moment_is_tried_again(tmp_path, monkeypatch, is_done):
    """Also where it was done, and only the answer was lost."""
    commit, failures = deltalake.DeltaTable.create_write_transaction, iter([OSError("connection reset"), None])

    def unsteady(*arguments, **options):
        failure = next(failures)
        if failure is None or is_done:
            commit(*arguments, **options)
        if failure is not None:
            raise failure

    monkeypatch.setattr(deltalake.DeltaTable, "create_write_transaction", unsteady)
    assert committed(tmp_path, EpochId(1, 1)) == 1
    monkeypatch.undo()
    assert committed(tmp_path, EpochId(1, 2)) == 2


def test_a_commit_that_cannot_pass_is_an_error_at_once(tmp_path, monkeypatch):
    def refused(*arguments, **options):
        raise deltalake.exceptions.DeltaProtocolError("not for us")

    monkeypatch.setattr(deltalake.DeltaTable, "create_write_transaction", refused)
    with pytest.raises(SinkError, match="does not take epoch 1: not for us"):
        committed(tmp_path, EpochId(1, 1))


def test_a_catalog_that_does_not_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(iceberg, "ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        catalog = {"type": "rest", "uri": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        with pytest.raises(TimeoutError, match=r"Iceberg table shop\.payments: no answer came within 0\.2 s"):
            IcebergSource("shop.payments", catalog)


def test_a_store_that_does_not_answer_is_given_up(tmp_path, monkeypatch):
    committed(tmp_path, EpochId(1, 1))
    answer = threading.Event()
    monkeypatch.setattr(delta, "ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(delta, "_COMMIT_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(deltalake.DeltaTable, "create_write_transaction", lambda *_, **__: answer.wait(10))
    with pytest.raises(SinkError, match=r"does not take epoch 2: Delta table .* no answer came within 0\.1 s"):
        committed(tmp_path, EpochId(1, 2))
    answer.set()


def test_a_writer_without_records_does_not_ask_the_catalog(tmp_path, monkeypatch):
    sink = pickle.loads(pickle.dumps(sink_of("iceberg", tmp_path)))

    def asked(*_):
        raise AssertionError("the catalog was asked")

    monkeypatch.setattr(iceberg.IcebergTable, "open_catalog", asked)
    storage = LocalCheckpointStorage(str(tmp_path / "checkpoint"))
    writer = sink.create_writer(SinkWriterContext("job", "out", 0, 1, EpochId(1, 1), storage, "staging"))
    writer.write(Batch(codec_for(RECORD), values=[]))
    assert writer.prepare_commit() == []
    writer.close()


def test_a_partitioned_delta_table_is_read(tmp_path, run_source):
    uri = str(tmp_path / "table")
    days = [date(2024, 1, 1), None, date(2024, 1, 2)]
    cities = ["New York", "a=b/c%", None]
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "day": pa.array(days), "city": pa.array(cities)})
    deltalake.write_deltalake(uri, rows, partition_by=["day", "city"])
    run = run_source(DeltaSource(uri, watch=True))
    first = run.epoch()
    assert sorted((row.id, row.day, row.city) for row in first) == [
        (number, day, city) for number, day, city in zip([1, 2, 3], days, cities, strict=True)
    ]
    deltalake.write_deltalake(uri, rows.slice(0, 1), mode="append")
    run.restart()
    assert [(row.id, row.day, row.city) for row in run.epoch(now=10_000)] == [(1, days[0], "New York")]
    some = environment(tmp_path / "some").from_source(DeltaSource(uri, "city STRING, id BIGINT", version=0))
    with some.filter(col("id") > 1).execute_and_collect() as found:
        assert sorted((row.id, row.city) for row in found) == [(2, "a=b/c%"), (3, None)]
    with pytest.raises(UnsupportedError, match="at least one column that is not one of its partition"):
        DeltaSource(uri, "city STRING")
