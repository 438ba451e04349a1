"""`penstock warm-up`: programs on this machine start faster from then on."""

from __future__ import annotations

import sys
import tempfile
import time

import click

from penstock.cli.program import FAILED
from penstock.common import Configuration, Types
from penstock.common.errors import PenstockError
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.engine.spark.class_archive import archive_path, recording


@click.command("warm-up")
@click.option("--again", is_flag=True, help="Make the archive anew where there is one.")
def warm_up(again: bool) -> None:
    """Make programs on this machine start faster: keep Spark's Java classes in a form that the JVM starts with.

    The archive (about 150 MB, in $PENSTOCK_CACHE, else ~/.cache/penstock) is used by every program that starts Spark
    by itself. It is made for one Java and one Spark; with others the JVM starts without it.
    """
    if archive_path().exists() and not again:
        click.echo(f"there is one: {archive_path()}")
        return
    click.echo("running a small job, and keeping the classes that it used ...", err=True)
    started = time.monotonic()
    try:
        with recording() as path, tempfile.TemporaryDirectory(prefix="penstock-warm-up-") as place:
            _run_small_job(place)
    except PenstockError as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)
    size = path.stat().st_size / (1 << 20)
    click.echo(f"{path}: {size:.0f} MB, in {time.monotonic() - started:.0f} s")


def _run_small_job(place: str) -> None:
    """What most jobs need of Spark: stages, an exchange, state, files that are published."""
    configuration = Configuration()
    configuration.set_string("execution.engine", "spark")
    configuration.set_string("spark.master", "local[2]")
    configuration.set_string("execution.checkpointing.dir", f"{place}/checkpoint")
    configuration.set_string("execution.epoch.max-records", "100")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    numbers = env.from_collection([(number % 3, number) for number in range(1000)], pair)
    sums = numbers.key_by(lambda record: record[0]).reduce(lambda one, other: (one[0], one[1] + other[1]))
    sums.sink_to(FileSink(f"{place}/sums"))
    env.execute("warm-up")
