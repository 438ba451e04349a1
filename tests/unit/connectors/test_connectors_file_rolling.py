"""Files that go on for several epochs, buckets, compaction and marks of completeness."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ArgumentError, ConfigurationError, PlanError, SinkError
from penstock.common.fail_points import SimulatedCrash, arm
from penstock.common.serialization import Encoder
from penstock.common.typeinfo import Types
from penstock.connectors.files import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OutputFileConfig,
    PartitionCommit,
    RollingPolicy,
    StreamingFileSink,
)
from penstock.connectors.files.writers.columnar import ParquetWriters
from penstock.connectors.sink import CommitterContext, EpochEnd, EpochId, PublisherContext, SinkWriterContext
from penstock.expressions import col, concat
from penstock.state.storage import LocalCheckpointStorage

PAYMENT = Types.ROW_NAMED(["id", "card"], [Types.LONG(), Types.STRING()])
HOUR = 3_600_000
STRING = Types.STRING()
TEXT = Encoder.simple_string_encoder()


class SinkRun:
    """Runs a file sink epoch by epoch; `restart` forgets all but what a manifest holds."""

    def __init__(self, tmp_path: Path, sink: FileSink, type_info=STRING) -> None:
        self.directory = Path(sink.settings.directory)
        self.sink = sink.for_records(type_info)
        self.type_info = type_info
        self.storage = LocalCheckpointStorage(str(tmp_path / "checkpoint"))
        self.state: dict[str, Any] = {}
        self.number = 0
        self.published: list[Any] = []
        self.restart()

    def restart(self) -> None:
        self.state = json.loads(json.dumps(self.state))
        context = CommitterContext("job", "out", self.storage, 2)
        self.committer = self.sink.create_committer(context)

    def epoch(self, *of_subtasks, now: int = 0, watermark: int = 0, last: bool = False, times=None) -> None:
        """One epoch; each argument has the records of one subtask."""
        self.number += 1
        epoch = EpochId(1, self.number)
        tokens = {}
        for subtask, records in enumerate(of_subtasks):
            context = SinkWriterContext(
                "job", "out", subtask, 2, epoch, self.storage, "", current_processing_time=lambda: now
            )
            writer = self.sink.create_writer(context)
            if records:
                writer.write(Batch(codec_for(self.type_info), values=list(records), timestamps=times))
            tokens[subtask] = json.loads(json.dumps(writer.prepare_commit()))
            writer.close()
        state = json.loads(json.dumps(self.state))
        gathered = self.committer.gather(tokens, EpochEnd(epoch, now, watermark, last, state))
        self.published = json.loads(json.dumps([(subtask, list(each)) for subtask, each in gathered.items()]))
        self.state = state
        self.publish()

    def publish(self) -> None:
        """As the engine does after the manifest: in tasks, then on the driver."""
        epoch = EpochId(1, self.number)
        for subtask, tokens in self.published:
            merger = self.sink.create_publisher(PublisherContext("job", "out", subtask, 2, self.storage))
            if merger is not None:
                merger.publish(epoch, tokens)
        self.committer.commit(epoch, [token for _, tokens in self.published for token in tokens])

    def files(self) -> dict[str, str]:
        return {path: (self.directory / path).read_text() for path in self.names()}

    def names(self) -> list[str]:
        found = [path.relative_to(self.directory) for path in self.directory.rglob("*") if path.is_file()]
        return sorted(str(path) for path in found if path.parts[0] != ".penstock")

    def hidden_files(self) -> list[Path]:
        return [path for path in (self.directory / ".penstock" / "staged").rglob("*") if path.is_file()]


@pytest.fixture(autouse=True)
def disarm():
    yield
    arm(None)


def rolling(tmp_path: Path, **policy) -> SinkRun:
    builder = FileSink.for_row_format(str(tmp_path / "out"), TEXT)
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).with_bucket_check_interval(10)
    builder.with_rolling_policy(RollingPolicy.default_rolling_policy(**policy))
    return SinkRun(tmp_path, builder.build())


def test_a_file_goes_on_over_epochs_and_appears_when_it_is_old_enough(tmp_path):
    run = rolling(tmp_path, rollover_interval=100)
    run.epoch(["a"], ["x"], now=0)
    run.epoch(["b"], now=50)
    run.restart()
    assert run.names() == []
    run.epoch(["c"], now=100)
    assert run.files() == {"part-out-1-0000000001-00000": "a\nb\nc\n", "part-out-1-0000000001-00001": "x\n"}
    assert run.hidden_files() == []


def test_a_file_without_new_records_ends_when_it_is_due(tmp_path):
    run = rolling(tmp_path, inactivity_interval=95)
    run.epoch(["a"], now=1)
    assert run.committer.next_due() == 100, "rounded up to the check interval"
    run.epoch([], now=100)
    assert list(run.files().values()) == ["a\n"]
    assert run.committer.next_due() is None


def test_a_large_file_ends_at_once_and_the_next_begins(tmp_path):
    run = rolling(tmp_path, part_size=10_000)
    run.epoch(["x" * 9] * 16_400, now=0)
    sizes = [len(text) for text in run.files().values()]
    assert sizes == [81_920, 81_920]
    run.epoch([], last=True)
    assert sum(len(text) for text in run.files().values()) == 164_000


def test_the_end_of_the_job_publishes_everything(tmp_path):
    run = rolling(tmp_path)
    run.epoch(["a"])
    run.epoch(["b"], last=True)
    assert list(run.files().values()) == ["a\nb\n"]


@pytest.mark.parametrize("point", ["sink.files.merged", "sink.files.renamed", "sink.files.marked"])
def test_a_crash_while_a_file_of_several_epochs_is_published_is_made_good(tmp_path, point):
    run = rolling(tmp_path, rollover_interval=100)
    run.epoch(["a"], ["x"])
    arm(lambda name: (_ for _ in ()).throw(SimulatedCrash(name)) if name == point else None)
    with pytest.raises(SimulatedCrash):
        run.epoch(["b"], ["y"], now=100)
    arm(None)
    run.restart()
    run.publish()
    assert sorted(run.files().values()) == ["a\nb\n", "x\ny\n"]
    run.epoch(["c"], now=200)
    run.epoch([], now=500)
    assert sorted(run.files().values()) == ["a\nb\n", "c\n", "x\ny\n"]
    assert run.hidden_files() == []


def test_parts_that_are_gone_are_an_error(tmp_path):
    run = rolling(tmp_path, rollover_interval=100)
    run.epoch(["a"])
    for path in run.hidden_files():
        path.unlink()
    with pytest.raises(SinkError, match=r"2 records of epoch 1\.2 cannot be published"):
        run.epoch(["b"], now=100)


def test_a_part_that_was_cut_is_an_error_and_its_copy_lets_the_file_appear(tmp_path):
    run = rolling(tmp_path, rollover_interval=100)
    run.epoch(["a long line"])
    (part,) = run.hidden_files()
    part.write_text("a long")
    with pytest.raises(SinkError, match=r"2 records cannot be published.* has 8 bytes instead of 14"):
        run.epoch(["b"], now=100)
    assert run.files() == {}
    part.write_text("a long line\n")
    run.publish()
    assert list(run.files().values()) == ["a long line\nb\n"]


@settings(max_examples=25, deadline=None)
@given(
    epochs=st.lists(
        st.tuples(st.lists(st.lists(st.text("ab", max_size=3), max_size=3), max_size=2), st.integers(0, 60)), max_size=8
    ),
    restarts=st.sets(st.integers(0, 8)),
)
def test_every_record_is_in_one_file_whenever_it_restarts(tmp_path_factory, epochs, restarts):
    run = rolling(tmp_path_factory.mktemp("run"), rollover_interval=100, inactivity_interval=50, part_size=7)
    now = 0
    for index, (of_subtasks, passed) in enumerate(epochs):
        now += passed
        if index in restarts:
            run.restart()
        run.epoch(*of_subtasks, now=now)
    run.epoch([], last=True, now=now)
    written = sorted(record for of_subtasks, _ in epochs for records in of_subtasks for record in records)
    found = sorted(line for text in run.files().values() for line in text.split("\n")[:-1]) if run.number > 1 else []
    assert found == written
    assert not run.hidden_files()


def test_names_are_as_configured(tmp_path):
    builder = FileSink.for_row_format(str(tmp_path / "out"), TEXT)
    builder.with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("yyyy-MM-dd", "UTC"))
    builder.with_output_file_config(
        OutputFileConfig.builder().with_part_prefix("prefix").with_part_suffix(".ext").build()
    )
    run = SinkRun(tmp_path, builder.build())
    run.epoch(["a"], now=25 * HOUR, last=True)
    assert run.names() == ["1970-01-02/prefix-out-1-0000000001-00000.ext"]


def test_buckets_by_event_time(tmp_path):
    sink = FileSink(str(tmp_path / "out"), "text", buckets=BucketAssigner.event_time_bucket_assigner())
    run = SinkRun(tmp_path, sink)
    run.epoch(["a", "b", "c"], times=[0, HOUR, HOUR + 1])
    assert list(run.files().items()) == [
        ("dt=1970-01-01/hour=00/part-out-1-0000000001-00000.txt", "a\n"),
        ("dt=1970-01-01/hour=01/part-out-1-0000000001-00000.txt", "b\nc\n"),
    ]
    with pytest.raises(SinkError, match="'d' has no timestamp"):
        run.epoch(["d"])


def test_buckets_by_expression_and_by_function(tmp_path):
    by_card = BucketAssigner.by(concat("card=", col("card")))
    run = SinkRun(tmp_path, FileSink(str(tmp_path / "a"), buckets=by_card), PAYMENT)
    run.epoch([(1, "visa"), (2, "amex"), (3, "visa")])
    assert [(name.split("/")[0], text.count("\n")) for name, text in run.files().items()] == [
        ("card=amex", 1),
        ("card=visa", 2),
    ]
    by_number = BucketAssigner.by(lambda row: f"odd={row[0] % 2}")
    odd = SinkRun(tmp_path, FileSink(str(tmp_path / "b"), buckets=by_number), PAYMENT)
    odd.epoch([(1, "visa"), (2, "amex"), (3, "visa")])
    assert [name.split("/")[0] for name in odd.names()] == ["odd=0", "odd=1"]


def test_a_bucket_expression_of_a_field_that_is_not_there_fails_where_the_program_is_built(tmp_path):
    with pytest.raises(PlanError, match="country"):
        FileSink(str(tmp_path), buckets=BucketAssigner.by(col("country"))).for_records(PAYMENT)


@pytest.mark.parametrize("bucket", ["../x", "a//b", ".hidden", "a/_b", "/a"])
def test_a_bucket_must_be_a_visible_path_below_the_directory(tmp_path, bucket):
    run = SinkRun(tmp_path, FileSink(str(tmp_path / "out"), "text", buckets=BucketAssigner.by(lambda _: bucket)))
    with pytest.raises(SinkError, match="no path of visible names"):
        run.epoch(["a"])


def test_more_buckets_than_files_may_be_open(tmp_path):
    buckets = BucketAssigner.by(lambda record: f"b={record}")
    run = SinkRun(tmp_path, FileSink(str(tmp_path / "out"), "text", buckets=buckets))
    run.epoch([str(number) for number in range(300)])
    assert len(run.names()) == 300


def test_a_complete_partition_is_marked_when_the_watermark_has_passed_its_end(tmp_path):
    builder = FileSink.for_row_format(str(tmp_path / "out"), TEXT)
    builder.with_bucket_assigner(BucketAssigner.event_time_bucket_assigner("yyyyMMdd/'hour='HH"))
    run = SinkRun(tmp_path, builder.with_partition_commit(PartitionCommit.by_watermark("1 s")).build())
    run.epoch(["a", "b"], times=[0, HOUR], watermark=0)
    run.epoch([], watermark=HOUR + 998)
    assert run.names() == [], "the files may go on"
    run.restart()
    run.epoch([], watermark=HOUR + 999)
    assert run.names() == ["19700101/hour=00/_SUCCESS", "19700101/hour=00/part-out-1-0000000001-00000"]
    run.epoch(["late"], times=[1], watermark=HOUR + 1000)
    assert len(run.names()) == 3
    run.epoch([], last=True, watermark=1 << 62)
    marks = [name for name in run.names() if name.endswith("_SUCCESS")]
    assert marks == ["19700101/hour=00/_SUCCESS", "19700101/hour=01/_SUCCESS"]


def test_a_partition_is_complete_some_time_after_its_first_record(tmp_path):
    sink = FileSink(
        str(tmp_path / "out"),
        "text",
        buckets=BucketAssigner.by(lambda record: record),
        partition_commit=PartitionCommit.by_processing_time("1 min", success_file="_DONE"),
    )
    run = SinkRun(tmp_path, sink)
    run.epoch(["a"], now=0)
    assert run.committer.next_due() == 60_000
    run.epoch([], now=60_000)
    assert "a/_DONE" in run.names()


def test_a_commit_by_watermark_needs_to_know_when_a_bucket_ends(tmp_path):
    by_name = BucketAssigner.by(lambda record: record)
    with pytest.raises(ConfigurationError, match="needs to know when a bucket ends"):
        FileSink(str(tmp_path), "text", buckets=by_name, partition_commit=PartitionCommit.by_watermark())
    of_the_hour = BucketAssigner.event_time_bucket_assigner("HH")
    with pytest.raises(ConfigurationError, match="needs to know when a bucket ends"):
        FileSink(str(tmp_path), "text", buckets=of_the_hour, partition_commit=PartitionCommit.by_watermark())
    commit = PartitionCommit.by_watermark(end_of=lambda bucket: int(bucket) * 10)
    run = SinkRun(tmp_path, FileSink(str(tmp_path / "out"), "text", buckets=by_name, partition_commit=commit))
    run.epoch(["1", "2"], watermark=9)
    assert [name for name in run.names() if "_SUCCESS" in name] == ["1/_SUCCESS"]


def test_small_files_are_compacted_before_readers_see_them(tmp_path):
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
    builder = FileSink.for_row_format(str(tmp_path / "out"), TEXT).enable_compact(
        strategy, FileCompactor.concat_file_compactor(b"--\n")
    )
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    run = SinkRun(tmp_path, builder.build())
    run.epoch(["a"], ["b"])
    run.epoch(["c"])
    run.restart()
    assert run.names() == []
    run.epoch(["d"])
    assert run.files() == {"compacted-part-out-1-0000000001-00000": "a\n--\nb\n--\nc\n--\nd\n"}
    assert run.hidden_files() == []


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro", "arrow"])
def test_bulk_files_are_compacted_record_by_record(tmp_path, file_format, run_source):
    from penstock.connectors.files import ArrowFormat, AvroFormat, FileSource, OrcFormat, ParquetFormat

    formats = {"parquet": ParquetFormat, "orc": OrcFormat, "avro": AvroFormat, "arrow": ArrowFormat}
    writers = FileSink(str(tmp_path / "unused"), file_format).settings.writers
    builder = FileSink.for_bulk_format(str(tmp_path / "out"), writers)
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    builder.enable_compact(
        FileCompactStrategy.builder().set_size_threshold(1 << 30).build(), FileCompactor.record_wise_file_compactor()
    )
    run = SinkRun(tmp_path, builder.build(), PAYMENT)
    run.epoch([(1, "a")], [(2, "b")])
    run.epoch([(3, None)], last=True)
    assert run.names() == [f"compacted-part-out-1-0000000001-00000.{file_format}"]
    source = FileSource(str(tmp_path / "out"), formats[file_format](PAYMENT))
    assert [tuple(row) for row in run_source(source).epoch()] == [(1, "a"), (2, "b"), (3, None)]
    learnt = FileSource(str(tmp_path / "out"), formats[file_format]())
    assert [tuple(row) for row in run_source(learnt).epoch()] == [(1, "a"), (2, "b"), (3, None)]


def test_compressed_files_go_on_too(tmp_path):
    builder = FileSink.for_row_format(str(tmp_path / "out"), TEXT).with_compression("gzip")
    run = SinkRun(tmp_path, builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    run.epoch(["a"])
    run.epoch(["b"], last=True)
    (name,) = run.names()
    assert name.endswith(".gz")
    assert gzip.decompress((run.directory / name).read_bytes()) == b"a\nb\n"


def test_compressed_files_are_compacted(tmp_path):
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
    builder = FileSink.for_row_format(str(tmp_path / "out"), TEXT).with_compression("gzip")
    builder.enable_compact(strategy, FileCompactor.concat_file_compactor(b"--\n"))
    builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    run = SinkRun(tmp_path, builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    run.epoch(["a"])
    run.epoch(["b"])
    (name,) = run.names()
    assert gzip.decompress((run.directory / name).read_bytes()) == b"a\n--\nb\n"


def waiting(tmp_path: Path, compression: str | None, *, compacts: bool) -> FileSink:
    builder = FileSink.for_row_format(str(tmp_path / "out"), TEXT)
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    if compression is not None:
        builder.with_compression(compression)
    if compacts:
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(50).build()
        builder.enable_compact(strategy, FileCompactor.concat_file_compactor())
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy(rollover_interval=100))
    return builder.build()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("gzip", False), (None, False)),
        ((None, False), ("gzip", False)),
        (("gzip", True), (None, True)),
        ((None, True), ("gzip", True)),
        ((None, True), (None, False)),
        (("gzip", True), (None, False)),
    ],
)
def test_what_waits_when_a_changed_program_takes_over_is_published_in_its_own_format(tmp_path, before, after):
    run = SinkRun(tmp_path, waiting(tmp_path, before[0], compacts=before[1]))
    run.epoch(["a"], now=0)
    run.epoch(["b"], now=100)
    run.epoch(["c"], now=150)
    run.sink = waiting(tmp_path, after[0], compacts=after[1])
    run.restart()
    run.epoch(["d"], now=160)
    run.epoch([], last=True, now=170)
    lines: list[str] = []
    for name in run.names():
        content = (run.directory / name).read_bytes()
        lines += (gzip.decompress(content) if name.endswith(".gz") else content).decode().split()
    assert sorted(lines) == ["a", "b", "c", "d"]
    assert run.hidden_files() == []


@pytest.mark.parametrize("compression", ["gzip", "bz2", "zstd", "lz4"])
def test_compressed_files_are_read_back(tmp_path, compression, run_source):
    from penstock.connectors.files import FileSource, TextLineFormat

    run = SinkRun(tmp_path, FileSink(str(tmp_path / "out"), "text", compression=compression))
    run.epoch(["a"] * 1000)
    assert run_source(FileSource(str(tmp_path / "out"), TextLineFormat())).epoch() == ["a"] * 1000


def test_parquet_is_compressed_as_told(tmp_path):
    run = SinkRun(tmp_path, FileSink(str(tmp_path / "out"), "parquet", compression="zstd"), PAYMENT)
    run.epoch([(1, "a")])
    (name,) = run.names()
    metadata = pyarrow.parquet.ParquetFile(run.directory / name).metadata
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_columns_of_ddl_are_written_in_their_types(tmp_path):
    record = Types.TUPLE([Types.LONG(), Types.BIG_DEC()])
    sink = FileSink(str(tmp_path / "out"), "parquet", row_type="id BIGINT, price DECIMAL(10, 2)")
    run = SinkRun(tmp_path, sink, record)
    run.epoch([(1, Decimal("2.5"))])
    table = pyarrow.parquet.read_table(run.directory / run.names()[0])
    assert [str(field.type) for field in table.schema] == ["int64", "decimal128(10, 2)"]
    assert table.column_names == ["id", "price"]


def test_text_is_that_of_flink(tmp_path):
    builder = FileSink.for_row_format(str(tmp_path / "out"), TEXT)
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    run = SinkRun(tmp_path, builder.build(), Types.TUPLE([Types.STRING(), Types.BOOLEAN()]))
    run.epoch([("a", True)], last=True)
    assert list(run.files().values()) == ["(a,true)\n"]


def test_the_files_of_a_bulk_format_end_with_their_epoch(tmp_path):
    builder = FileSink.for_bulk_format(str(tmp_path), ParquetWriters())
    with pytest.raises(ArgumentError, match="end with their epoch"):
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy())
    builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())


def test_what_makes_no_sense_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="part_size"):
        RollingPolicy.default_rolling_policy(part_size=0)
    with pytest.raises(ConfigurationError, match="must know when"):
        FileCompactStrategy.builder().build()
    with pytest.raises(ArgumentError, match="encoder"):
        FileSink.for_row_format(str(tmp_path), "utf-8")
    with pytest.raises(ArgumentError, match="writer_factory"):
        FileSink.for_bulk_format(str(tmp_path), "parquet")


def test_the_older_name_still_works(tmp_path):
    with pytest.warns(DeprecationWarning, match="use FileSink"):
        builder = StreamingFileSink.for_row_format(str(tmp_path / "out"), TEXT)
    sink = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    assert isinstance(sink, StreamingFileSink)
    run = SinkRun(tmp_path, sink)
    run.epoch(["a"], last=True)
    assert list(run.files().values()) == ["a\n"]
