"""`penstock jobs`: the jobs whose checkpoints are below a directory."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.cli.checkpoint import Checkpoint, SourcePositions, checkpoints_below
from penstock.cli.program import FAILED
from penstock.cli.wording import moment, size
from penstock.common.errors import PenstockError

_COLORS = {"running": "green", "running?": "green", "failed": "red", "killed": "red"}


@dataclass(frozen=True)
class JobLine:
    """One job as the list shows it."""

    directory: str
    name: str
    state: str
    epoch: int
    newest_epoch: int
    """Its time, in ms since 1970."""
    records: int
    sources: Mapping[str, SourcePositions]
    bytes: int
    error: str | None


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object per job.")
def jobs(directory: Path, as_json: bool) -> None:
    """List the jobs whose checkpoints are in DIRECTORY or below it.

    A job is running, finished, stopped, failed, or killed when its process is gone without a word; "running?" is a
    job that was started on another machine. The exit code is 1 when a checkpoint cannot be read.
    """
    lines: list[JobLine] = []
    unreadable = False
    for path in checkpoints_below(directory):
        try:
            lines.append(_line(path))
        except PenstockError as error:
            unreadable = True
            click.echo(f"{path}: {error}", err=True)
    if as_json:
        for line in lines:
            click.echo(json.dumps(asdict(line)))
    elif lines:
        _console().print(_table(lines))
    elif not unreadable:
        click.echo(f"there are no checkpoints in {directory}", err=True)
    sys.exit(FAILED if unreadable else 0)


def _line(path: Path) -> JobLine:
    checkpoint = Checkpoint(str(path))
    newest = checkpoint.manifest()
    last = checkpoint.runs[-1].end if checkpoint.runs else None
    return JobLine(
        directory=str(path),
        name=newest.job_name,
        state=checkpoint.state_of_job(),
        epoch=newest.number,
        newest_epoch=newest.now,
        records=newest.records.get("read", 0),
        sources=checkpoint.sources(newest),
        bytes=checkpoint.size(),
        error=None if last is None else last.error,
    )


def _console() -> Console:
    # A pipe has no width: nothing is to be cut off there.
    console = Console()
    return console if console.is_terminal else Console(width=400)


def _table(lines: list[JobLine]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("job", "state", "epoch", "newest epoch", "records", "sources", "size", "checkpoint"):
        table.add_column(heading, justify="right" if heading in ("epoch", "records", "size") else "left")
    for line in lines:
        color = _COLORS.get(line.state)
        table.add_row(
            escape(line.name),
            f"[{color}]{line.state}[/{color}]" if color else line.state,
            f"{line.epoch:,}",
            moment(line.newest_epoch),
            f"{line.records:,}",
            escape("\n".join(_source_text(uid, positions) for uid, positions in line.sources.items())),
            size(line.bytes),
            escape(line.directory),
        )
    return table


def _source_text(uid: str, positions: SourcePositions) -> str:
    shown = uid if len(uid) <= 20 else f"{uid[:8]}…"
    return f"{shown}: {'ended' if positions.ended else short_positions(positions.state)}"


def short_positions(state: Mapping[str, Any]) -> str:
    """What an enumerator remembers, cut to a line."""
    text = ", ".join(f"{key}={json.dumps(value)}" for key, value in sorted(state.items()))
    return text if len(text) <= 60 else f"{text[:57]}... ({len(state)} entries)"
