"""A command to call, and program files for it to run."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

from penstock.cli.main import main
from unit.cli.cli_programs import Command, ProgramFile


@pytest.fixture
def penstock(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Calls the command in this process, on the local engine."""
    monkeypatch.setenv("PENSTOCK_ENGINE", "local")
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def program_file(tmp_path: Path) -> ProgramFile:
    """Writes a program."""

    def write(text: str) -> Path:
        path = tmp_path / "program.py"
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write
