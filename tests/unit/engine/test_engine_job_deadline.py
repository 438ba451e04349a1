"""Spark jobs that take too long are ended; `make soak` has workers that hang for real."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest
from pyspark import SparkContext

from penstock.engine.epochs.stage_executor import ExecutionFailedError
from penstock.engine.spark.job_deadline import job_deadline


class Context:
    """Takes the place of a SparkContext."""

    def __init__(self) -> None:
        self.group: tuple[Any, ...] = ()
        self.cancelled = threading.Event()

    def setJobGroup(self, name: str, description: str, interruptOnCancel: bool = False) -> None:  # noqa: N802, N803
        self.group = (name, description, interruptOnCancel)

    def setJobDescription(self, description: str) -> None:  # noqa: N802
        self.group = (description,)

    def work(self) -> None:
        assert self.cancelled.wait(60)
        raise RuntimeError("job 7 was cancelled")

    def cancelJobGroup(self, name: str) -> None:  # noqa: N802
        assert name == self.group[0]
        self.cancelled.set()


def test_tasks_that_take_too_long_are_ended_with_their_workers() -> None:
    context = Context()
    with (
        pytest.raises(ExecutionFailedError, match=r"took longer than 0\.01 s and were ended"),
        job_deadline(cast(SparkContext, context), "group", "an epoch", 0.01),
    ):
        context.work()
    assert context.group == ("group", "an epoch", True), "Spark kills the workers of interrupted tasks"


@pytest.mark.parametrize("seconds", [None, 1000.0])
def test_other_failures_stay_what_they_are(seconds: float | None) -> None:
    context = Context()
    with (
        pytest.raises(RuntimeError, match="something else"),
        job_deadline(cast(SparkContext, context), "group", "an epoch", seconds),
    ):
        raise RuntimeError("something else")
    assert not context.cancelled.is_set()
