"""Sinks whose records end up in the driver, or in a function: print, collect, function."""

from __future__ import annotations

import datetime
import json
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.row import Row
from penstock.common.time import Instant
from penstock.common.typeinfo import Types
from penstock.connectors.collect_sink import CollectSink
from penstock.connectors.function_sink import FunctionSink
from penstock.connectors.print_sink import PrintSink
from penstock.connectors.print_text import print_text
from penstock.connectors.sink import CommitterContext, DeliveryGuarantee, EpochId, Sink, SinkWriterContext
from penstock.state.storage import LocalCheckpointStorage


class Harness:
    """Writes in 'tasks' that got the sink by pickle, commits with the original."""

    def __init__(self, sink: Sink, tmp_path: Path, parallelism: int = 1, type_info=None) -> None:
        self.sink = sink
        self.storage = LocalCheckpointStorage(str(tmp_path))
        self.parallelism = parallelism
        self.type_info = type_info
        self.committer = sink.create_committer(CommitterContext("job", "uid", self.storage))

    def stage(self, number: int, *values, subtask: int = 0) -> list:
        sink = pickle.loads(pickle.dumps(self.sink))
        staging = f"staged/{number}/{subtask}"
        writer = sink.create_writer(
            SinkWriterContext("job", "uid", subtask, self.parallelism, EpochId(0, number), self.storage, staging)
        )
        for start in range(0, len(values), 2):
            writer.write(Batch(codec_for(self.type_info), values=list(values[start : start + 2])))
        tokens = writer.prepare_commit()
        writer.close()
        return json.loads(json.dumps(tokens))

    def commit(self, number: int, tokens: list) -> None:
        self.committer.commit(EpochId(0, number), tokens)


@pytest.mark.parametrize(
    ("identifier", "parallelism", "line"),
    [(None, 1, "x"), (None, 2, "2> x"), ("id", 1, "id> x"), ("id", 2, "id:2> x")],
)
def test_lines_have_the_prefix_that_flink_gives_them(tmp_path, capsys, identifier, parallelism, line):
    harness = Harness(PrintSink(identifier), tmp_path, parallelism)
    harness.commit(1, harness.stage(1, "x", subtask=parallelism - 1))
    assert capsys.readouterr().out == f"{line}\n"


@pytest.mark.parametrize("type_info", [None, Types.LONG()])
def test_collected_records_that_come_one_by_one_are_staged_together(tmp_path, type_info):
    collected = []
    harness = Harness(CollectSink(collected.extend, type_info), tmp_path, type_info=type_info)
    tokens = harness.stage(1, *range(999))
    assert len(tokens) == 1
    harness.commit(1, tokens)
    assert collected == list(range(999))


@pytest.mark.parametrize("type_info", [None, Types.STRING()])
def test_much_that_is_collected_is_staged_in_parts_and_keeps_its_order(tmp_path, type_info):
    collected = []
    harness = Harness(CollectSink(collected.extend, type_info), tmp_path, type_info=type_info)
    values = [str(number) * 3_000_000 for number in range(10)]
    tokens = harness.stage(1, *values)
    assert len(tokens) > 1
    harness.commit(1, tokens)
    assert collected == values


def test_printing_is_in_the_order_of_subtasks_and_once(tmp_path, capsys):
    harness = Harness(PrintSink(), tmp_path, 2)
    tokens = harness.stage(1, "c", "d", "e", subtask=1) + harness.stage(1, "a", "b", subtask=0)
    assert capsys.readouterr().out == ""
    harness.commit(1, tokens)
    harness.commit(1, tokens)
    assert capsys.readouterr().out == "1> a\n1> b\n2> c\n2> d\n2> e\n"


def test_much_output_is_staged_in_parts_and_keeps_its_order(tmp_path, capsys):
    harness = Harness(PrintSink(), tmp_path)
    values = [str(number) * 300_000 for number in range(10)]
    tokens = harness.stage(1, *values)
    assert len(tokens) > 1
    harness.commit(1, tokens)
    assert capsys.readouterr().out.splitlines() == values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (True, "true"),
        (None, "null"),
        (5, "5"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (12345678.9, "1.23456789E7"),
        (1e16, "1.0E16"),
        (-1.5e-7, "-1.5E-7"),
        (1234567.0, "1234567.0"),
        (float("nan"), "NaN"),
        (Row(1, None, "x"), "+I[1, null, x]"),
        ((1, "a", True), "(1,a,true)"),
        ([1, "a"], "[1, a]"),
        ({"k": 1.5}, "{k=1.5}"),
        (5e-324, "4.9E-324"),
        (datetime.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02 03:04:05.0"),
        (datetime.datetime(2024, 1, 2, 3, 4, 5, 120999), "2024-01-02 03:04:05.12"),
        (datetime.time(3, 4, 5, 999999), "03:04:05"),
        (Instant(0, 0), "1970-01-01T00:00:00Z"),
        (Instant(-1, 120_000_000), "1969-12-31T23:59:59.120Z"),
        (Instant(0, 5), "1970-01-01T00:00:00.000000005Z"),
        (datetime.date(2024, 1, 2), "2024-01-02"),
        (np.float64(0.5), "0.5"),
    ],
)
def test_values_of_declared_types_print_as_in_flink(value, text):
    assert print_text(value) == text


def test_values_of_no_declared_type_print_as_in_python(tmp_path, capsys):
    harness = Harness(PrintSink(), tmp_path)
    harness.commit(1, harness.stage(1, (1, True, None)))
    assert capsys.readouterr().out == "(1, True, None)\n"


@pytest.mark.parametrize(("declared", "line"), [(True, "(1,true)\n"), (False, "(1, True)\n")])
def test_whether_a_type_was_declared_decides_the_form(tmp_path, capsys, declared, line):
    pair = Types.TUPLE([Types.INT(), Types.BOOLEAN()])
    harness = Harness(PrintSink(type_is_declared=declared), tmp_path, type_info=pair)
    harness.commit(1, harness.stage(1, (1, True)))
    assert capsys.readouterr().out == line


def test_a_row_is_in_flinks_form_and_its_fields_are_in_pythons(tmp_path, capsys):
    row = Types.ROW([Types.INT(), Types.BOOLEAN()])
    harness = Harness(PrintSink(), tmp_path, type_info=row)
    harness.commit(1, harness.stage(1, Row(1, None)))
    assert capsys.readouterr().out == "+I[1,None]\n"


@dataclass
class Point:
    x: int


def test_collected_records_arrive_in_order_and_once(tmp_path):
    received: list[object] = []
    harness = Harness(CollectSink(received.extend), tmp_path, 2)
    tokens = harness.stage(1, Point(3), subtask=1) + harness.stage(1, Point(1), {"a": 2}, Point(2))
    harness.commit(1, tokens)
    harness.commit(1, tokens)
    assert received == [Point(1), {"a": 2}, Point(2), Point(3)]
    harness.commit(2, harness.stage(2, "next"))
    assert received[-1] == "next"


def test_a_restarted_job_hands_nothing_over_again(tmp_path):
    received: list[str] = []
    sink = CollectSink(received.extend)
    harness = Harness(sink, tmp_path)
    tokens = harness.stage(1, "x")
    for job in ("job", "job", "another job"):
        sink.create_committer(CommitterContext(job, "uid", harness.storage)).commit(EpochId(0, 1), tokens)
    assert received == ["x", "x"], "once for each job"


def test_collected_rows_keep_their_python_form(tmp_path):
    received: list[object] = []
    type_info = Types.ROW_NAMED(["a"], [Types.INT()])
    harness = Harness(CollectSink(received.extend, type_info), tmp_path, type_info=type_info)
    harness.commit(1, harness.stage(1, Row(a=1), Row(a=None)))
    assert received == [Row(a=1), Row(a=None)]


def test_an_epoch_without_records_hands_over_nothing(tmp_path):
    received: list[object] = []
    harness = Harness(CollectSink(received.append), tmp_path)
    assert harness.stage(1) == []
    harness.commit(1, [])
    assert received == []


def fail_on_two(value: int) -> None:
    if value == 2:
        raise ValueError("two")


def test_a_function_is_called_with_every_record_and_says_at_least_once(tmp_path):
    called: list[int] = []
    sink = FunctionSink(called.append)
    writer = sink.create_writer(
        SinkWriterContext("j", "u", 0, 1, EpochId(0, 1), LocalCheckpointStorage(str(tmp_path)), "")
    )
    writer.write(Batch(codec_for(Types.INT()), values=[1, 2, 3]))
    assert writer.prepare_commit() == []
    assert called == [1, 2, 3]
    assert sink.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
    assert "at least once" in sink.describe()


def test_the_record_that_a_function_failed_on_is_named(tmp_path):
    harness = Harness(FunctionSink(fail_on_two), tmp_path)
    with pytest.raises(ValueError, match="two") as caught:
        harness.stage(1, 1, 2, 3)
    assert caught.value.__notes__ == ["the record was 2"]
