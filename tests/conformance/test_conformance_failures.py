"""What a person sees when their code fails."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.common.errors import JobExecutionException, PlanError
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.functions import KeyedProcessFunction, MapFunction


def reciprocal(n: int) -> float:
    return 1 / n


def test_the_users_traceback_comes_first(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([4, 2, 0]).map(reciprocal).name("Reciprocal").uid("reciprocal")
    stream.print()
    with pytest.raises(JobExecutionException) as failure:
        env.execute()
    message = str(failure.value)
    assert message.startswith("Traceback")
    assert "in reciprocal" in message
    assert "ZeroDivisionError: division by zero" in message
    place = message[message.index("ZeroDivisionError") :]
    for fact in ("operator: Reciprocal", "uid: reciprocal", "record: 0", f"{__file__}:"):
        assert fact in place
    shown = "".join(traceback.format_exception(failure.value))
    assert shown.count("ZeroDivisionError: division by zero") == 1
    assert "engine/epochs" not in shown


class CannotBeOpened(MapFunction):
    def open(self, runtime_context: Any) -> None:
        raise OSError("no such model")

    def map(self, value: int) -> int:
        return value


def test_a_function_that_cannot_be_opened_names_the_epoch_for_a_replay(env: StreamExecutionEnvironment) -> None:
    env.from_collection([4]).map(CannotBeOpened()).uid("model").print()
    with pytest.raises(JobExecutionException, match="OSError: no such model") as failure:
        env.execute()
    assert failure.value.report is not None
    assert (failure.value.report.uid, failure.value.report.epoch) == ("model", 2), "the first is the start"


def give_up(n: int) -> int:
    if n == 0:
        sys.exit("no more of this")
    return n


def test_a_function_that_ends_the_program_fails_the_job(env: StreamExecutionEnvironment) -> None:
    env.from_collection([4, 2, 0]).map(give_up).print()
    with pytest.raises(JobExecutionException, match=r"in give_up\n(.*\n)+SystemExit: no more of this") as failure:
        env.execute()
    shown = "".join(traceback.format_exception(failure.value))
    assert "runtime/stateless" not in shown


def test_a_record_that_cannot_travel_names_the_operator_that_made_it(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 2]).map(lambda n: threading.Lock() if n == 2 else n).uid("made").rebalance().map(
        str
    ).print()
    with pytest.raises(JobExecutionException, match="a record of class lock cannot be pickled") as failure:
        env.execute()
    assert failure.value.report is not None
    assert failure.value.report.uid == "made"
    assert "lock object" in str(failure.value.report.record)


def test_a_field_that_is_not_there_is_one_error(env: StreamExecutionEnvironment) -> None:
    rows = env.from_collection([Row(card="visa")], Types.ROW_NAMED(["card"], [Types.STRING()]))
    rows.map(lambda row: row["crad"]).print()
    with pytest.raises(JobExecutionException, match="has no field 'crad'; it has") as failure:
        env.execute()
    assert str(failure.value).count("Error") == 1


def test_a_file_sink_that_cannot_write_is_one_sentence(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / ".penstock").write_text("a file, no directory")
    env.from_collection(["a"]).sink_to(FileSink(str(tmp_path))).uid("out")
    with pytest.raises(JobExecutionException, match=r"SinkError: the file sink cannot read .*/\.penstock: ") as failure:
        env.execute()
    assert "direct cause" not in "".join(traceback.format_exception(failure.value))


class Refuse(KeyedProcessFunction):
    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        if value[1] == 13:
            raise ValueError("thirteen is refused")
        yield value


def test_a_failure_in_a_keyed_function_names_the_key(env: StreamExecutionEnvironment) -> None:
    records = [(f"k{n % 5}", n) for n in range(20)]
    env.from_collection(records).key_by(lambda r: r[0]).process(Refuse()).uid("refuse").print()
    with pytest.raises(JobExecutionException) as failure:
        env.execute()
    report = failure.value.report
    assert report is not None
    assert (report.error_type, report.message, report.uid) == ("ValueError", "thirteen is refused", "refuse")
    assert "k3" in (report.key or "")
    assert "13" in (report.record or "")


def test_a_failing_key_selector(env: StreamExecutionEnvironment) -> None:
    env.from_collection([{"id": 1}, {"name": 2}]).key_by(lambda r: r["id"]).map(lambda r: r).print()
    with pytest.raises(JobExecutionException, match="KeyError: 'id'"):
        env.execute()


def test_a_record_that_does_not_fit_its_declared_type(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1, 2]).map(lambda n: "x" * n, output_type=Types.INT()).uid("wrong-type")
    stream.rebalance().map(lambda n: n).print()
    with pytest.raises(JobExecutionException) as failure:
        env.execute()
    message = str(failure.value)
    assert "'x'" in message
    assert "wrong-type" in message


def test_a_record_whose_key_cannot_be_had_names_the_line_of_the_key(env: StreamExecutionEnvironment) -> None:
    records = env.from_collection([1])
    by_list = records.key_by(lambda n: [n])
    by_list.map(lambda n: n).print()
    with pytest.raises(
        JobExecutionException, match=r"keyed at: .*: by_list = records.key_by\(lambda n: \[n\]\)"
    ) as failure:
        env.execute()
    assert failure.value.report is not None
    assert "records = env.from_collection" in (failure.value.report.call_site or "")


def test_a_key_of_an_unknown_class_is_refused(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).key_by(lambda n: object()).map(lambda n: n).print()
    with pytest.raises(JobExecutionException, match="KeyEncodingError"):
        env.execute()


def test_a_function_that_cannot_be_shipped_is_refused_before_the_job_starts(env: StreamExecutionEnvironment) -> None:
    lock = threading.Lock()
    env.from_collection([1]).map(lambda n: lock.locked()).print()
    with pytest.raises(PlanError, match=r"(?s)'Map'.*lock"):
        env.execute_async()
