"""PyFlink's examples themselves, with nothing but their imports changed. Collected where PyFlink is (conftest.py)."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from parity import kit
from parity.pyflink_examples import EXAMPLES, PYTHON_WITH_PYFLINK, example_file, printed_lines

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
