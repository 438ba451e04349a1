"""The `penstock` command and its parts."""

from __future__ import annotations

import click

from penstock.cli.explain import explain
from penstock.cli.inspect import inspect
from penstock.cli.jobs import jobs
from penstock.cli.run import run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="penstock")
def main() -> None:
    """Flink's programming model on Spark: runs programs, explains their plans, looks into checkpoints."""


for _command in (run, explain, jobs, inspect):
    main.add_command(_command)
