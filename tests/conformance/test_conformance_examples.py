"""The examples do what they say."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
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
