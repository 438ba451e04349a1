"""`penstock check-upgrade`: whether a changed program can take up the state of the one before it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from penstock.cli.explain import FirstPlan, PlanReached
from penstock.cli.program import FAILED, collect_options, program_options, run_program
from penstock.common.errors import PenstockError
from penstock.execution.job_watchers import watching
from penstock.execution.upgrade_check import check_upgrade_of


@click.command("check-upgrade")
@click.argument("old")
@program_options
@click.option("--allow-non-restored-state", is_flag=True, help="State that the program has no operator for is dropped.")
def check_upgrade(
    old: str,
    file: Path,
    arguments: tuple[str, ...],
    master: str | None,
    engine: str | None,
    checkpoint: str | None,
    given: tuple[str, ...],
    allow_non_restored_state: bool,
) -> None:
    """Say what the program FILE will make of OLD, a savepoint or a checkpoint directory.

    State is kept, migrated, dropped or refused. The program runs up to its first execute(), and no job is started; its
    stateful functions are opened to learn which state they declare. The exit code is 1 when something is refused.
    """
    configuration = collect_options(master, engine, checkpoint, given)
    watcher = FirstPlan()
    code = 0
    try:
        with watching(watcher):
            code = run_program(file, arguments, configuration)
    except PlanReached:
        pass
    if watcher.plan is None:
        if code == 0:
            click.echo(f"{file} ended without execute(): it has no job that could take up state", err=True)
        sys.exit(code or FAILED)
    try:
        report = check_upgrade_of(old, watcher.plan, allow_non_restored_state=allow_non_restored_state)
    except PenstockError as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)
    click.echo(report)
    sys.exit(0 if report.is_possible else FAILED)
