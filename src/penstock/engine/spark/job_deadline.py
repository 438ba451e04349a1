"""An end to Spark jobs that take too long: a connection that hangs, a worker that waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from pyspark import SparkContext

from penstock.engine.epochs.stage_executor import ExecutionFailedError


@contextmanager
def job_deadline(context: SparkContext, name: str, description: str, seconds: float | None) -> Generator[None]:
    """Names the Spark jobs that this thread starts, and ends them after so many seconds; None: never."""
    if seconds is None:
        context.setJobDescription(description)
        yield
        return
    # Spark kills the Python worker of a task that it interrupts, whatever that waits for.
    context.setJobGroup(name, description, interruptOnCancel=True)
    is_late = threading.Event()

    def cancel() -> None:
        is_late.set()
        context.cancelJobGroup(name)

    timer = threading.Timer(seconds, cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if is_late.is_set():
            raise ExecutionFailedError(f"the tasks took longer than {seconds:g} s and were ended") from error
        raise
    finally:
        timer.cancel()
