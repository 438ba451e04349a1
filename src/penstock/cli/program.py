"""Runs a user's file the way `python FILE` would, with options from the command line."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import penstock
from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.common.default_options import ENVIRONMENT_VARIABLE, default_options, format_options, parse_option
from penstock.common.errors import ConfigurationError, JobExecutionException, PenstockError

_OUR_DIRECTORY = str(Path(penstock.__path__[0]))
_RUNPY = {runpy.__file__, "<frozen runpy>"}

FAILED = 1
INTERRUPTED = 130
"""What shells report for a program that Ctrl-C ended."""


def program_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The parameters of commands that run a program file."""
    for decorate in (
        click.argument("arguments", nargs=-1, type=click.UNPROCESSED),
        click.argument("file", type=click.Path(exists=True, path_type=Path)),
        click.option("--option", "-o", "given", multiple=True, metavar="KEY=VALUE", help="An option; can be repeated."),
        click.option(
            "--checkpoint", metavar="DIR", help="Where the job keeps its state (execution.checkpointing.dir)."
        ),
        click.option("--engine", type=click.Choice(["spark", "local"]), help="What runs the job (execution.engine)."),
        click.option("--master", metavar="MASTER", help="The Spark master (spark.master)."),
    ):
        command = decorate(command)
    return command


def collect_options(
    master: str | None, engine: str | None, checkpoint: str | None, given: Iterable[str]
) -> Configuration:
    """The options of the command line, over those of the environment; what cannot be used is a usage error."""
    configuration = default_options()
    try:
        for text in given:
            configuration.set_string(*parse_option(text))
        for key, value in (
            (options.SPARK_MASTER.key, master),
            (options.ENGINE.key, engine),
            (options.CHECKPOINT_DIRECTORY.key, checkpoint),
        ):
            if value is not None:
                configuration.set_string(key, value)
        for option in filter(configuration.contains, options.ALL_OPTIONS):
            configuration.get(option)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    return configuration


def run_program(file: Path, arguments: Sequence[str], configuration: Configuration) -> int:
    """Runs the file as `__main__`; returns its exit code, and prints its own traceback when it fails."""
    with _as_if_started_alone(file, arguments, configuration):
        try:
            runpy.run_path(str(file), run_name="__main__")
        except SystemExit as end:
            return _exit_code(end)
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exception as error:
            report_failure(error)
            return FAILED
    return 0


def report_failure(error: BaseException) -> None:
    """Prints what went wrong: the report of a failed job, else the traceback of the program's own lines."""
    if isinstance(error, JobExecutionException):
        click.echo(f"the job failed\n{error}", err=True)
        return
    shown = traceback.TracebackException.from_exception(error)
    if isinstance(error, PenstockError):
        # Its message says what to do; the frames of Penstock beneath the program's line do not.
        _keep_frames(shown, lambda file: not file.startswith(_OUR_DIRECTORY) and file not in _RUNPY)
        shown.__cause__ = shown.__context__ = None
    else:
        _drop_frames_above_program(shown)
    click.echo("".join(shown.format()), err=True, nl=False)


def _keep_frames(shown: traceback.TracebackException, wanted: Callable[[str], bool]) -> None:
    shown.stack = traceback.StackSummary.from_list([frame for frame in shown.stack if wanted(frame.filename)])


def _drop_frames_above_program(shown: traceback.TracebackException) -> None:
    own = {index for index, frame in enumerate(shown.stack) if frame.filename in _RUNPY}
    start = max(own, default=-1) + 1
    shown.stack = traceback.StackSummary.from_list(list(shown.stack)[start:])


def _exit_code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    click.echo(end.code, err=True)
    return FAILED


@contextmanager
def _as_if_started_alone(file: Path, arguments: Sequence[str], configuration: Configuration) -> Generator[None]:
    """`sys.argv`, `sys.path` and the environment as the program finds them; as they were afterwards."""
    before = sys.argv, sys.path, os.environ.get(ENVIRONMENT_VARIABLE)
    sys.argv = [str(file), *arguments]
    sys.path = [str(file.resolve().parent), *sys.path]
    os.environ[ENVIRONMENT_VARIABLE] = format_options(configuration)
    try:
        yield
    finally:
        sys.argv, sys.path, variable = before
        if variable is None:
            del os.environ[ENVIRONMENT_VARIABLE]
        else:
            os.environ[ENVIRONMENT_VARIABLE] = variable
