"""What a person reads where Spark fails: one sentence, never a Java stack."""

from __future__ import annotations

import traceback
from pathlib import Path
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JError

from penstock.common.errors import EnvironmentNotReadyError
from penstock.connectors.sink import EpochId
from penstock.engine.epochs.stage_executor import ExecutionFailedError
from penstock.engine.spark import executor
from penstock.engine.spark.java import check_java
from penstock.engine.spark.spark_errors import short_message

_STACK = "\n\tat org.apache.spark.SparkContext$.createTaskScheduler(SparkContext.scala:3277)\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
            f": org.apache.spark.SparkException: Could not parse Master URL: 'local[a]'{_STACK}",
            "Could not parse Master URL: 'local[a]'",
        ),
        (
            f"An error occurred while calling o1.collect.\n: org.apache.spark.SparkException: Job aborted{_STACK}"
            f"Traceback (most recent call last):\nValueError: not a number{_STACK}",
            "ValueError: not a number",
        ),
        (
            "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            f'  File "program.py", line 7, in ask\nKeyboardInterrupt\n{_STACK}',
            "KeyboardInterrupt",
        ),
        (
            f"Job aborted: ExecutorLostFailure (executor 1 exited) Reason: killed{_STACK}",
            "ExecutorLostFailure (executor 1 exited) Reason: killed",
        ),
        (
            "Job aborted: SparkException: Python worker exited unexpectedly (crashed). Consider setting 'spark.sql"
            f".execution.pyspark.udf.faulthandler.enabled' to 'true'{_STACK}",
            "Python worker exited unexpectedly (crashed): it was killed (most often for want of memory), native code "
            "in it crashed, or the program ended it (os._exit)",
        ),
        ("", "RuntimeError"),
    ],
)
def test_the_sentence_of_a_spark_error(text: str, shown: str) -> None:
    assert short_message(RuntimeError(text)) == shown


def test_a_failed_epoch_shows_no_java_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "jvm_answers", lambda: True)
    monkeypatch.setattr(executor, "is_alive", lambda session: True)
    with pytest.raises(ExecutionFailedError) as failure, executor.spark_errors_explained(Mock(), EpochId("a", 3)):
        raise Py4JError(f"o1.collect\n: org.apache.spark.SparkException: Job aborted{_STACK}")
    shown = "".join(traceback.format_exception(failure.value))
    assert shown.endswith("ExecutionFailedError: Job aborted\n")
    assert _STACK.strip() not in shown


def _java(home: Path, version: str) -> None:
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)


@pytest.mark.parametrize(("version", "named"), [("1.8.0_402", "8"), ("11.0.2", "11"), ("16", "16")])
def test_an_old_java_is_named_by_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, named: str
) -> None:
    _java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentNotReadyError, match=rf"Java 17 or newer; .*java is version {named}\. Install it"):
        check_java()


@pytest.mark.parametrize("version", ["17.0.15", "21"])
def test_a_new_java_is_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    _java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check_java()


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(EnvironmentNotReadyError, match=r"JAVA_HOME is set, and .*gone/bin/java does not exist"):
        check_java()


def test_no_java_at_all_comes_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentNotReadyError, match=r"no java was found\. Install it: .*'local'"):
        check_java()
