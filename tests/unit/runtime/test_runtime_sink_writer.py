from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from penstock.common.batch import Batch
from penstock.common.errors import FencedError, SinkError, TypeMismatchError, UserFunctionError
from penstock.connectors.sink import DeliveryGuarantee, EpochId, Sink, SinkWriter, SinkWriterContext, Token
from penstock.runtime import SinkWriterOperator
from unit.runtime.operator_harness import ANY, Harness


class ListWriter(SinkWriter):
    def __init__(self, context: SinkWriterContext, log: list[Any], error: Exception | None) -> None:
        self.context = context
        self.log = log
        self.error = error
        self.written: list[Any] = []

    def write(self, batch: Batch) -> None:
        if self.error is not None:
            raise self.error
        self.written += batch.values

    def prepare_commit(self) -> list[Token]:
        return [{"epoch": str(self.context.epoch), "records": self.written}]

    def close(self) -> None:
        self.log.append(("closed", str(self.context.epoch)))


class ListSink(Sink):
    def __init__(self) -> None:
        self.log: list[Any] = []
        self.contexts: list[SinkWriterContext] = []
        self.error: Exception | None = None

    @property
    def guarantee(self) -> DeliveryGuarantee:
        return DeliveryGuarantee.EXACTLY_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        self.contexts.append(context)
        return ListWriter(context, self.log, self.error)


def test_every_epoch_with_output_has_a_writer_of_its_own() -> None:
    sink = ListSink()
    operator = SinkWriterOperator(sink)
    harness = Harness(lambda: operator, storage="storage")
    harness.process([1, 2])
    harness.process([3])
    operator.end_epoch()
    assert operator.tokens() == [{"epoch": "1.1", "records": [1, 2, 3]}]
    harness.context.epoch, harness.context.staging = EpochId(1, 2), "staging/2"
    operator.begin_epoch()
    assert operator.tokens() == []
    harness.process([4])
    operator.end_epoch()
    assert operator.tokens() == [{"epoch": "1.2", "records": [4]}]
    assert sink.log == [("closed", "1.1"), ("closed", "1.2")]
    assert [context.staging for context in sink.contexts] == ["staging/1", "staging/2"]
    context = sink.contexts[0]
    assert (context.job_id, context.uid, context.subtask, context.parallelism, context.storage) == (
        "job",
        "sessions",
        1,
        4,
        "storage",
    )


def test_an_epoch_without_output_makes_no_call() -> None:
    sink = ListSink()
    harness = Harness(lambda: SinkWriterOperator(sink))
    harness.end_epoch()
    assert (sink.contexts, sink.log) == ([], [])


def test_the_writer_of_a_failed_epoch_is_closed_and_not_used_again() -> None:
    sink = ListSink()
    operator = SinkWriterOperator(sink)
    harness = Harness(lambda: operator)
    harness.process([1])
    operator.begin_epoch()
    assert sink.log == [("closed", "1.1")]
    harness.process([2])
    operator.end_epoch()
    assert operator.tokens() == [{"epoch": "1.1", "records": [2]}]


def test_closing_the_operator_closes_an_open_writer() -> None:
    sink = ListSink()
    harness = Harness(lambda: SinkWriterOperator(sink))
    harness.process([1])
    harness.operator.close()
    assert sink.log == [("closed", "1.1")]


def test_a_record_of_the_wrong_type_is_named() -> None:
    sink = ListSink()
    sink.error = TypeMismatchError("not a number", index=1)
    harness = Harness(lambda: SinkWriterOperator(sink))
    with pytest.raises(UserFunctionError) as failure:
        harness.process([1, "x"])
    assert failure.value.report.record == "'x'"


@pytest.mark.parametrize("error", [SinkError("target is gone"), ZeroDivisionError("user code")])
def test_errors_of_the_sink_are_reported_with_the_operator(error: Exception) -> None:
    sink = ListSink()
    harness = Harness(lambda: SinkWriterOperator(sink))
    sink.error = error
    with pytest.raises(UserFunctionError, match=str(error)) as failure:
        harness.operator.process(Batch(ANY, values=[1]), 0)
    assert (failure.value.report.uid, failure.value.report.error_type) == ("sessions", type(error).__name__)


@pytest.mark.parametrize(
    ("prepared", "told"),
    [
        (Mock(side_effect=SinkError("nobody answers")), "nobody answers"),
        (Mock(side_effect=OSError("no route")), "OSError: no route"),
        (Mock(return_value=None), "prepare_commit returned None; expected a list of JSON objects"),
        (Mock(return_value=[{1, 2}]), r"prepare_commit returned \[\{1, 2\}\]; expected a list of JSON objects"),
    ],
)
def test_what_cannot_be_made_durable_is_reported_with_the_operator(
    monkeypatch: pytest.MonkeyPatch, prepared: Mock, told: str
) -> None:
    sink = ListSink()
    harness = Harness(lambda: SinkWriterOperator(sink))
    harness.process([1])
    monkeypatch.setattr(ListWriter, "prepare_commit", prepared)
    with pytest.raises(UserFunctionError, match=told) as failure:
        harness.operator.end_epoch()
    assert failure.value.report.uid == "sessions"


def test_other_errors_of_penstock_stay_what_they_are() -> None:
    sink = ListSink()
    harness = Harness(lambda: SinkWriterOperator(sink))
    sink.error = FencedError("another driver has taken over")
    with pytest.raises(FencedError):
        harness.operator.process(Batch(ANY, values=[1]), 0)
