"""`penstock explain`: the plan of a program that does not run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from penstock.cli.program import FAILED, collect_options, program_options, run_program
from penstock.common.configuration import Configuration
from penstock.execution.job_client import JobClient
from penstock.execution.job_watchers import watching
from penstock.plan.forms import PLAN_FORMS
from penstock.plan.plan import Plan


@click.command()
@program_options
@click.option("--form", type=click.Choice(list(PLAN_FORMS)), default="text", show_default=True)
def explain(
    file: Path,
    arguments: tuple[str, ...],
    master: str | None,
    engine: str | None,
    checkpoint: str | None,
    given: tuple[str, ...],
    form: str,
) -> None:
    """Show the plan of the program FILE: stages, chains, operators and exchanges.

    The program runs up to its first execute(), and ends there: no job is started.
    """
    configuration = collect_options(master, engine, checkpoint, given)
    watcher = FirstPlan()
    try:
        with watching(watcher):
            code = run_program(file, arguments, configuration)
    except PlanReached:
        code = 0
    if watcher.plan is None:
        if code == 0:
            click.echo(f"{file} ended without execute(): it has no job to explain", err=True)
        sys.exit(code or FAILED)
    click.echo(PLAN_FORMS[form](watcher.plan), nl=False)


class PlanReached(BaseException):
    """Ends the program where its job would start; no `except Exception` of the program stops it."""


class FirstPlan:
    """Takes the plan of the first job that a program would start, and ends the program there."""

    def __init__(self) -> None:
        self.plan: Plan | None = None

    def planned(self, plan: Plan, configuration: Configuration) -> None:
        """Takes the plan."""
        self.plan = plan
        raise PlanReached

    def started(self, client: JobClient) -> None:
        """Never called."""
