"""The examples do what they say."""

from __future__ import annotations

import json
import runpy
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from services.python_process import run_python

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(name: str, *arguments: str) -> str:
    """What the example prints; one that starts a JVM has an interpreter of its own, too."""
    command = [str(EXAMPLES / name), *arguments]
    if "spark" in arguments:
        run = subprocess.run([sys.executable, *command], check=False, capture_output=True, text=True, timeout=240)
    else:
        run = run_python(*command)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_word_count(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("A rose is a rose, is a rose.\n")
    output = run_example("word_count.py", "--engine", "local", "--input", str(tmp_path / "text.txt"))
    assert [tuple(line.split()) for line in output.splitlines()] == [("3", "a"), ("3", "rose"), ("2", "is")]


@pytest.mark.spark
def test_the_payments_demo_goes_on_where_it_ended_on_another_engine_and_verifies(tmp_path: Path) -> None:
    for engine in ("local", "spark", "local"):
        run_example("payments_demo.py", "--engine", engine, "--seconds", "2", "--resume", str(tmp_path))
    assert "nothing lost, nothing counted twice" in run_example("payments_demo.py", "--verify", str(tmp_path))


def test_the_payments_demo_notices_what_is_missing_or_there_twice(tmp_path: Path) -> None:
    run_example("payments_demo.py", "--engine", "local", "--seconds", "1", "--resume", str(tmp_path))
    results = sorted((tmp_path / "results").glob("*.json"))
    (tmp_path / "results" / "part-again.json").write_bytes(results[-1].read_bytes())
    results[0].unlink()
    check = run_python(EXAMPLES / "payments_demo.py", "--verify", tmp_path)
    assert check.returncode == 1
    assert "is there 2 times" in check.stdout


@contextmanager
def started_demo(directory: Path) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The demo on the local engine, once it has said how to go on with it; and the command that it named for that."""
    command = [sys.executable, str(EXAMPLES / "payments_demo.py"), "--engine", "local", "--resume", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            resume = next(line for line in process.stdout if line.startswith("resume:"))
            yield process, shlex.split(resume.partition(":")[2])
        finally:
            process.kill()


def test_the_payments_demo_goes_on_after_kill_9_by_the_command_that_it_printed_first(tmp_path: Path) -> None:
    with started_demo(tmp_path) as (process, resume):
        while not list((tmp_path / "results").glob("*.json")):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    subprocess.run([*resume, "--seconds", "1"], check=True, capture_output=True)
    assert "nothing lost, nothing counted twice" in run_example("payments_demo.py", "--verify", str(tmp_path))


def test_the_payments_demo_ends_in_order_when_it_is_interrupted_at_once(tmp_path: Path) -> None:
    with started_demo(tmp_path) as (process, _):
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "Ctrl-C" in output
    assert str(tmp_path / "results") in output
    assert "Traceback" not in output


def test_remote_model_inference() -> None:
    output = run_example("remote_model_inference.py", "--engine", "local", "--comments", "12")
    results = [json.loads(line[line.index("{") :]) for line in output.splitlines()]
    opinions = ["positive", "negative", "neutral", "positive", None, "positive"] * 2
    assert sorted((each["user_id"], each["analysis_result"]) for each in results) == list(enumerate(opinions))


def test_fraud_detection() -> None:
    example = runpy.run_path(str(EXAMPLES / "fraud_detection.py"))
    payments = sorted(example["some_payments"](1_500), key=lambda payment: payment.at)
    expected: list[str] = []
    for card in {payment.card for payment in payments}:
        tries: list[Any] = []
        for payment in (each for each in payments if each.card == card):
            if payment.amount > 500:
                while tries and any(each.place == payment.place for each in tries):
                    tries.pop(0)
                tries = [each for each in tries if payment.at - each.at < 60_000]
                if tries:
                    small = ", ".join(f"{each.amount} in {each.place}" for each in tries)
                    expected.append(f"{card}: {small}; then {payment.amount} in {payment.place}")
            tries = [*tries, payment] if payment.amount < 1 else []
    output = run_example("fraud_detection.py", "--engine", "local", "--payments", "1500")
    assert sorted(line.partition("> ")[2] for line in output.splitlines()) == sorted(expected)
    assert len(expected) > 10
