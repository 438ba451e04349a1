"""`penstock run`: runs a program and shows how its jobs get on."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console

from penstock.cli.live_table import LiveTable
from penstock.cli.program import FAILED, INTERRUPTED, collect_options, program_options, report_failure, run_program
from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.common.errors import JobExecutionException
from penstock.common.job import JobStatus
from penstock.execution.job_client import JobClient
from penstock.execution.job_watchers import watching
from penstock.plan.plan import Plan


@click.command()
@program_options
@click.option("--progress/--no-progress", default=None, help="Live counts; by default where there is a terminal.")
@click.option("--standby", is_flag=True, help="Wait while another driver runs the job, and take over when it is gone.")
@click.option("--from-savepoint", metavar="DIR", help="Start from a savepoint (execution.savepoint.path).")
@click.option("--allow-non-restored-state", is_flag=True, help="State that the program has no operator for is dropped.")
def run(
    file: Path,
    arguments: tuple[str, ...],
    master: str | None,
    engine: str | None,
    checkpoint: str | None,
    given: tuple[str, ...],
    progress: bool | None,
    standby: bool,
    from_savepoint: str | None,
    allow_non_restored_state: bool,
) -> None:
    """Run the program FILE with ARGUMENTS (after `--`, where they look like options).

    Options are defaults: what the program sets itself counts. Ctrl-C stops a job after the epoch under way; with
    --checkpoint, running the same program again goes on from there.

    The exit code is 0 when the program ended, 1 when it or one of its jobs failed, 2 when the command line is wrong,
    130 after Ctrl-C, and the program's own where it calls sys.exit().
    """
    configuration = collect_options(master, engine, checkpoint, given)
    if standby:
        configuration.set(options.STANDBY, True)
    if from_savepoint is not None:
        configuration.set(options.SAVEPOINT_PATH, from_savepoint)
    if allow_non_restored_state:
        configuration.set(options.IGNORE_UNCLAIMED_STATE, True)
    watcher = _Jobs(_console(progress))
    with watching(watcher):
        code = run_program(file, arguments, configuration)
        code = watcher.finish(code)
    if code == 0 and not watcher.have_started:
        click.echo(f"{file} ended without execute(): no job was started", err=True)
    sys.exit(code)


def _console(progress: bool | None) -> Console | None:
    """Where live counts go: standard error, so that the program's output can be redirected."""
    console = Console(stderr=True, force_terminal=True if progress else None)
    return console if progress or (progress is None and console.is_terminal) else None


class _Jobs:
    """The jobs that the program has started."""

    def __init__(self, console: Console | None) -> None:
        self._table = None if console is None else LiveTable(console)
        self._clients: list[JobClient] = []

    def planned(self, plan: Plan, configuration: Configuration) -> None:
        """Nothing to do."""

    def started(self, client: JobClient) -> None:
        """Takes a job into view."""
        self._clients.append(client)
        if self._table is not None:
            self._table.add(client)

    @property
    def have_started(self) -> bool:
        """Whether there has been any."""
        return bool(self._clients)

    def finish(self, code: int) -> int:
        """Waits for jobs that the program left running, or ends them if it failed; returns the exit code."""
        left = [client for client in self._clients if not (client.is_asked_for and client.has_ended())]
        try:
            for client in left:
                if code:
                    client.cancel()
                client.wait()
        except KeyboardInterrupt:
            code = INTERRUPTED
        except JobExecutionException as failure:
            report_failure(failure)
            code = FAILED
        with _ignoring_interrupts():
            for client in left:
                client.cancel().exception()
        if self._table is not None:
            self._table.finish()
        if code == INTERRUPTED:
            self._say_how_to_go_on()
        return code

    def _say_how_to_go_on(self) -> None:
        for client in self._clients:
            if client.status is JobStatus.CANCELED:
                name, records = client.plan.job_name, client.metrics()["records_read"]
                click.echo(f"stopped '{name}' after {records:,} records", err=True)


@contextmanager
def _ignoring_interrupts() -> Generator[None]:
    """A second Ctrl-C while jobs finish their epoch ends the waiting, not with a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("not waiting for the epoch under way; nothing that was committed is lost", err=True)
