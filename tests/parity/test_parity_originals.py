"""PyFlink's examples themselves, with nothing but their imports changed. Collected where PyFlink is (conftest.py)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path

import pytest

from parity import kit
from parity.pyflink_examples import ENDLESS, EXAMPLES, PYTHON_WITH_PYFLINK, example_file, first_lines, printed_lines

RECORDED = json.loads((kit.RECORDED / "examples.json").read_text())["examples"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_original_prints_what_it_prints_under_pyflink(name: str, tmp_path: Path) -> None:
    original = example_file(os.environ[PYTHON_WITH_PYFLINK], name)
    recorded = RECORDED[name]
    assert hashlib.sha256(original.read_bytes()).hexdigest() == recorded["sha256"], "recorded of another version"
    changed = tmp_path / original.name
    changed.write_text(kit.source_of(original, "penstock"))
    ours, theirs = printed_lines([sys.executable, str(changed)], "execution.engine=local"), recorded["printed"]
    if EXAMPLES[name].order_varies:
        ours, theirs = sorted(ours), sorted(theirs)
    assert ours == theirs


def _is_a_count_of_words(lines: list[str]) -> None:
    counts: dict[str, list[int]] = {}
    for line in lines:
        word, count = line.strip("()").split(",")
        counts.setdefault(word, []).append(int(count))
    assert all(found == list(range(1, len(found) + 1)) for found in counts.values()), counts
    assert len(counts) > 5


def _is_an_inference(lines: list[str]) -> None:
    results = [json.loads(line) for line in lines]
    assert len({result["user_id"] for result in results}) == len(results)
    assert all(re.fullmatch("[0-9a-f]{100}", result["comments"]) for result in results)
    assert {result["analysis_result"] for result in results} <= {"positive", None}


_HOLDS = {"streaming_word_count": _is_a_count_of_words, "remote_model_inference": _is_an_inference}


@pytest.mark.parametrize("package", ["penstock", "pyflink"])
@pytest.mark.parametrize("name", ENDLESS)
def test_the_first_records_of_an_original_without_end(name: str, package: str, tmp_path: Path) -> None:
    original = example_file(os.environ[PYTHON_WITH_PYFLINK], name)
    changed = tmp_path / original.name
    changed.write_text(kit.source_of(original, package))
    python = sys.executable if package == "penstock" else os.environ[PYTHON_WITH_PYFLINK]
    _HOLDS[name](first_lines([python, str(changed)], 30, "execution.engine=local"))
