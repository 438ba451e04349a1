"""Output that waits to be published is not lost when a program comes back with other sinks, or without them."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Encoder, SimpleStringSchema, Types, fail_points
from penstock.common.errors import JobExecutionException
from penstock.common.fail_points import SimulatedCrash
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from penstock.execution.job_client import JobClient
from savepoints.ledger_job import AtEpoch, environment, published

LINES = [f"line {number}" for number in range(200)]
IGNORING = {"execution.savepoint.ignore-unclaimed-state": True}
WAITING = "has output that it is not known to have published"

Ends = Callable[[DataStream], Any]


class Program:
    """A job that writes lines somewhere: a file sink with the uid `lines` unless told otherwise."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.out = directory / "out"
        self.from_first = {"execution.savepoint.path": directory / "first/checkpoint"}

    def env(self, ends: Ends, checkpoint: str = "first", **options: Any) -> StreamExecutionEnvironment:
        env = environment(self.directory / checkpoint, **options).set_parallelism(1)
        lines = env.from_collection(LINES, Types.STRING()).uid("source").map(lambda line: line, Types.STRING())
        ends(lines.uid("same"))
        return env

    def to_files(self, lines: DataStream) -> None:
        lines.sink_to(FileSink(str(self.out), "text")).uid("lines")

    def crash_before_publishing(self, ends: Ends, epoch: int = 3) -> None:
        """So many epochs have happened, and nobody has published the last."""
        left = epoch

        def strike(name: str) -> None:
            nonlocal left
            left -= name == "publish.before"
            if not left:
                raise SimulatedCrash(name)

        fail_points.arm(strike)
        try:
            with pytest.raises(SimulatedCrash):
                self.env(ends).execute()
        finally:
            fail_points.arm(None)

    def stop(self, ends: Ends, **options: Any) -> None:
        AtEpoch(1).run(self.env(ends, **options).execute_async, lambda client: client.cancel())


def to_nothing(lines: DataStream) -> None:
    lines.add_sink(lambda line: None).uid("lines")


def to_nothing_elsewhere(lines: DataStream) -> None:
    lines.add_sink(lambda line: None).uid("another")


def to_other_files(lines: DataStream) -> None:
    lines.sink_to(FileSink("/nowhere", "text")).uid("lines")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        (to_nothing, "it was another one, 'FileSink, .*', and is now 'FunctionSink, at-least-once'"),
        (to_nothing_elsewhere, "the program does not have it any more"),
        (to_other_files, "and is now 'FileSink, exactly-once, files in /nowhere'"),
    ],
    ids=["another class", "gone", "another directory"],
)
def test_after_a_crash_a_program_that_cannot_publish_it_is_refused_until_its_own_has_been_stopped(
    program: Program, ends: Ends, reason: str
) -> None:
    program.crash_before_publishing(program.to_files)
    shown = published(program.out)
    with pytest.raises(JobExecutionException, match=rf"{WAITING}.*\n.*the sink 'Sink' \(uid lines\) .*{reason}"):
        program.env(ends).execute()
    assert published(program.out) == shown
    program.stop(program.to_files)
    assert len(shown) < len(published(program.out)) < len(LINES)
    if ends is not to_other_files:
        program.env(ends).execute()
        assert published(program.out) == Counter(LINES[: len(published(program.out))]), "the rest went elsewhere"


def test_after_an_error_of_the_programs_own_it_may_come_back_with_another_sink(program: Program) -> None:
    def fails(lines: DataStream) -> None:
        program.to_files(lines.map(lambda line: line if line != "line 90" else line[100], Types.STRING()).uid("fails"))

    with pytest.raises(JobExecutionException, match="index out of range"):
        program.env(fails, **{"restart-strategy.type": "none"}).execute()
    assert published(program.out) == Counter(LINES[:80])
    program.env(to_nothing).execute()


def test_what_may_be_left_behind_is_left_behind_and_told(
    program: Program, penstock_log: pytest.LogCaptureFixture
) -> None:
    program.crash_before_publishing(program.to_files)
    assert len(published(program.out)) == 80

    def ends(lines: DataStream) -> None:
        lines.sink_to(FileSink(str(program.directory / "others"), "text")).uid("lines")

    program.env(ends, **IGNORING).execute()
    assert published(program.out) == Counter(LINES[:80])
    assert published(program.directory / "others") == Counter(LINES[120:])
    assert "output of sinks is left behind: lines" in penstock_log.text


def to_rolling_files(program: Program) -> Ends:
    def ends(lines: DataStream) -> None:
        builder = FileSink.for_row_format(str(program.out), Encoder.simple_string_encoder())
        lines.sink_to(builder.with_rolling_policy(RollingPolicy.default_rolling_policy()).build()).uid("lines")

    return ends


def test_what_a_sink_holds_back_is_published_by_a_savepoint_before_the_sink_may_change(program: Program) -> None:
    rolling = to_rolling_files(program)
    program.stop(rolling)
    with pytest.raises(
        JobExecutionException, match=r"\(uid lines\) holds output back(.*\n)+.* stop it with a savepoint"
    ):
        program.env(to_nothing).execute()
    with pytest.raises(JobExecutionException, match="holds output back; a job that starts from there does not publish"):
        program.env(to_nothing, "second", **program.from_first).execute()
    env = program.env(rolling)
    AtEpoch(1).run(env.execute_async, lambda client: client.stop_with_savepoint(False, None))
    program.env(to_nothing).execute()


def test_a_job_does_not_start_from_the_checkpoint_of_one_that_has_not_published_all(program: Program) -> None:
    program.crash_before_publishing(program.to_files)
    with pytest.raises(JobExecutionException, match="of epoch 4; a job that starts from there does not publish it"):
        program.env(program.to_files, "second", **program.from_first).execute()
    program.stop(program.to_files)
    program.env(program.to_files, "second", **program.from_first).execute()
    assert published(program.out) == Counter(LINES)


def kafka_sink(prefix: str, guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE) -> KafkaSink:
    records = KafkaRecordSerializationSchema.builder().set_topic("lines")
    builder = KafkaSink.builder().set_bootstrap_servers("127.0.0.1:9092").set_delivery_guarantee(guarantee)
    builder.set_record_serializer(records.set_value_serialization_schema(SimpleStringSchema()).build())
    return builder.set_transactional_id_prefix(prefix).build()


def jdbc_sink(epochs: str) -> JdbcSink:
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite:lines.db").build()
    return JdbcSink.insert("lines", Types.ROW_NAMED(["line"], [Types.STRING()]), options, bookkeeping_table=epochs)


def test_sinks_that_ask_another_place_what_is_published_are_other_sinks() -> None:
    assert kafka_sink("a").output_kind == kafka_sink("a").output_kind != kafka_sink("b").output_kind
    assert kafka_sink("a").output_kind != kafka_sink("a", DeliveryGuarantee.AT_LEAST_ONCE).output_kind
    assert jdbc_sink("epochs").output_kind == jdbc_sink("epochs").output_kind != jdbc_sink("others").output_kind


def test_a_driver_that_is_replaced_before_it_ends_does_not_speak_for_the_other(program: Program) -> None:
    def replaced_and_cancelled(client: JobClient) -> None:
        program.crash_before_publishing(program.to_files)
        client.cancel()

    AtEpoch(1).run(program.env(program.to_files).execute_async, replaced_and_cancelled)
    with pytest.raises(JobExecutionException, match=WAITING):
        program.env(to_nothing).execute()


def test_what_is_out_of_a_job_is_not_out_of_another_that_begins_where_its_manifests_were(program: Program) -> None:
    program.env(program.to_files).execute()
    shutil.rmtree(program.directory / "first/checkpoint/manifests")
    shutil.rmtree(program.out)
    program.crash_before_publishing(program.to_files, epoch=5)
    assert published(program.out) == Counter(LINES[:160])
    program.env(program.to_files).execute()
    assert published(program.out) == Counter(LINES)


def test_of_a_checkpoint_that_is_not_kept_nothing_is_left(program: Program) -> None:
    retention = "execution.checkpointing.externalized-checkpoint-retention"
    program.env(program.to_files, **{retention: "DELETE_ON_CANCELLATION"}).execute()
    assert list((program.directory / "first/checkpoint").iterdir()) == []
