"""Which parity tests there are: those that run PyFlink's own files need an environment that has them."""

from __future__ import annotations

import os

import pytest

from parity.pyflink_examples import PYTHON_WITH_PYFLINK

collect_ignore = ["programs", "example_programs.py"]
if not os.environ.get(PYTHON_WITH_PYFLINK):
    collect_ignore.append("test_parity_originals.py")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not os.environ.get(PYTHON_WITH_PYFLINK):
        terminalreporter.write_line(
            f"not collected: PyFlink's own examples (tests/parity/test_parity_originals.py); set {PYTHON_WITH_PYFLINK}"
        )
