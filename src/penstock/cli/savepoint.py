"""`penstock savepoint`: a savepoint of a checkpoint, without the job."""

from __future__ import annotations

import sys

import click

from penstock.cli.checkpoint import Checkpoint
from penstock.cli.program import FAILED
from penstock.cli.wording import counted
from penstock.common.errors import PenstockError
from penstock.engine.epochs.manifest import EPOCH
from penstock.engine.epochs.savepoints import write_savepoint
from penstock.engine.epochs.waiting_output import is_published
from penstock.state.storage import open_storage


@click.command()
@click.argument("checkpoint")
@click.argument("target")
@click.option("--epoch", type=int, help="Of this epoch instead of the newest.")
def savepoint(checkpoint: str, target: str, epoch: int | None) -> None:
    """Write the state in the directory CHECKPOINT as a savepoint to the directory TARGET, which must be empty.

    The job need not run. Where it does, or has died, the newest epoch's output may not be published yet, and it is not
    part of a savepoint: stop the job with a savepoint instead, or start it once more and stop it.
    """
    try:
        read = Checkpoint(checkpoint)
        manifest = read.manifest(epoch)
        # A manifest says that the output of the epochs before it is out.
        newest = max((each.number for each in read.manifests() if each.kind == EPOCH), default=0)
        published = manifest.number < newest or is_published(read.storage, manifest)
        header = write_savepoint(read.storage, manifest, open_storage(target), published=published)
    except PenstockError as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)
    rows = sum(table.rows for table in header.states)
    click.echo(
        f"savepoint of '{header.job_name}', epoch {header.epoch}: {counted(len(header.states), 'state')}, "
        f"{counted(rows, 'row')}"
    )
    if not published:
        click.echo(
            f"warning: it is not known that all output of epoch {header.epoch} was published. A job that starts from "
            "this savepoint does not publish it again.",
            err=True,
        )
