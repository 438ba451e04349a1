"""The `penstock` command and its parts."""

from __future__ import annotations

import click

from penstock.cli.check_upgrade import check_upgrade
from penstock.cli.dev import dev
from penstock.cli.explain import explain
from penstock.cli.inspect import inspect
from penstock.cli.jobs import jobs
from penstock.cli.replay import replay
from penstock.cli.run import run
from penstock.cli.savepoint import savepoint
from penstock.cli.warm_up import warm_up


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="penstock")
def main() -> None:
    """Flink's programming model on Spark: runs programs, explains their plans, looks into checkpoints."""


for _command in (run, explain, jobs, inspect, replay, dev, savepoint, check_upgrade, warm_up):
    main.add_command(_command)
