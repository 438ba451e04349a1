"""`penstock replay`: one epoch of a job again, in one process, under the debugger."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from penstock.cli.program import FAILED, collect_options, run_program
from penstock.cli.replay_debugger import KeyCalls, ReplayDebugger, matches_key
from penstock.common.configuration import Configuration
from penstock.common.errors import FailureReport, PenstockError
from penstock.execution.job_client import JobClient
from penstock.execution.job_watchers import watching
from penstock.execution.replay import Replayed, replay_epoch
from penstock.plan.plan import Plan
from penstock.runtime.failures import observe, safe_repr

_SHOWN_RECORDS = 50


@click.command()
@click.argument("checkpoint")
@click.argument("file", metavar="PROGRAM", type=click.Path(exists=True, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--epoch", type=int, required=True, help="Which epoch; a failed job names it.")
@click.option("--key", help="Stop at every call of the program's functions for this key.")
@click.option("--debugger/--no-debugger", default=True, help="pdb, or just print what happens.", show_default=True)
@click.option("--option", "-o", "given", multiple=True, metavar="KEY=VALUE", help="An option; can be repeated.")
def replay(
    checkpoint: str,
    file: Path,
    arguments: tuple[str, ...],
    epoch: int,
    key: str | None,
    debugger: bool,
    given: tuple[str, ...],
) -> None:
    """Run one epoch of the job in the directory CHECKPOINT again, with the program that wrote it.

    Everything happens in this process, from the state that the job had before the epoch: where the program fails, and
    with --key at every call for that key, the debugger stops in the program's own code. breakpoint() works too.
    Neither the checkpoint nor any sink is changed; what would go to sinks is printed.

    The exit code is 0 when the epoch ran through, and 1 when it failed again.
    """
    configuration = collect_options(None, "local", checkpoint, given)
    watcher = _FirstJob()
    try:
        with watching(watcher):
            code = run_program(file, arguments, configuration)
    except _JobReached:
        code = 0
    if watcher.plan is None or watcher.configuration is None:
        if code == 0:
            click.echo(f"{file} ended without execute(): it has no job", err=True)
        sys.exit(code or FAILED)
    try:
        replayed = _replay(watcher.plan, watcher.configuration, checkpoint, epoch, key, debugger)
    except PenstockError as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)
    sys.exit(_tell(replayed))


def _replay(
    plan: Plan, configuration: Configuration, checkpoint: str, epoch: int, key: str | None, debugger: bool
) -> Replayed:
    output = _Output()
    calls = None if key is None else KeyCalls(matches_key(key), ReplayDebugger() if debugger else None)
    observe(ReplayDebugger().post_mortem if debugger else None)
    try:
        if calls is not None:
            calls.watch()
        return replay_epoch(plan, configuration, checkpoint, epoch, output.show)
    finally:
        observe(None)
        if calls is not None:
            calls.end()


def _tell(replayed: Replayed) -> int:
    click.echo(f"epoch {replayed.epoch}: {replayed.records_read:,} records read")
    if replayed.recorded is not None:
        click.echo("recorded when the job ran:")
        click.echo("\n".join(f"  {line}" for line in _circumstances(replayed.recorded)))
    if replayed.failure is None:
        click.echo("the epoch ran through" + ("" if replayed.recorded is None else "; it failed when the job ran"))
        return 0
    click.echo(replayed.failure.render(), err=True)
    return FAILED


def _circumstances(report: FailureReport) -> list[str]:
    facts: list[tuple[str, Any]] = [
        ("error", f"{report.error_type}: {report.message}"),
        ("operator", report.operator),
        ("key", report.key),
        ("record", report.record),
        ("watermark", report.watermark),
        *((f"state '{name}'", value) for name, value in report.state.items()),
    ]
    return [f"{name}: {value}" for name, value in facts if value not in (None, "")]


class _Output:
    """Prints what came to sinks, up to a number of records for each."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def show(self, sink: str, record: Any) -> None:
        count = self._counts[sink] = self._counts.get(sink, 0) + 1
        if count <= _SHOWN_RECORDS:
            click.echo(f"{sink} <- {safe_repr(record)}")
        elif count == _SHOWN_RECORDS + 1:
            click.echo(f"{sink} <- ... and more")


class _JobReached(BaseException):
    """Ends the program where its job would start; no `except Exception` of the program stops it."""


class _FirstJob:
    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.configuration: Configuration | None = None

    def planned(self, plan: Plan, configuration: Configuration) -> None:
        self.plan, self.configuration = plan, configuration
        raise _JobReached

    def started(self, client: JobClient) -> None:
        pass
