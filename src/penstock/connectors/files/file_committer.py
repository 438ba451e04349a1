"""Publishes staged files by renaming them, and keeps a note of the last epoch that was published."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from penstock.common.errors import SinkError
from penstock.common.fail_points import reach
from penstock.connectors.sink import Committer, CommitterContext, EpochId, Token

HIDDEN = ".penstock"


def staging_directory(directory: Path, uid: str, job_id: str, epoch: EpochId) -> Path:
    """Where the writers of one sink put the files of one epoch."""
    return _staging_of_sink(directory, uid, job_id) / f"{epoch.incarnation}-{epoch.number}"


def sync_directory(directory: Path) -> None:
    """Makes the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _staging_of_sink(directory: Path, uid: str, job_id: str) -> Path:
    return directory / HIDDEN / "staged" / quote(uid, safe="") / quote(job_id, safe="")


class FileCommitter(Committer):
    """One per sink, on the driver."""

    def __init__(self, directory: Path, context: CommitterContext) -> None:
        self._directory = directory
        self._context = context
        self._marker = directory / HIDDEN / f"{quote(context.uid, safe='')}.json"

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        """Renames the epoch's files into view; what is in view already stays as it is."""
        if not tokens:
            return
        published = self._published()
        if published is not None and published >= epoch:
            # They may have been taken away since by whoever reads the directory.
            return
        try:
            for token in tokens:
                self._publish(epoch, token)
            sync_directory(self._directory)
            reach("sink.files.renamed")
            self._mark(epoch)
            reach("sink.files.marked")
            shutil.rmtree(
                staging_directory(self._directory, self._context.uid, self._context.job_id, epoch), ignore_errors=True
            )
        except OSError as problem:
            raise SinkError(f"the file sink cannot publish epoch {epoch} in {self._directory}: {problem}") from problem

    def recover(self, newest: EpochId | None) -> None:
        """Refuses a directory that shows more than the checkpoint knows, or what another job wrote."""
        published = self._published()
        if published is not None and (newest is None or published > newest):
            known = "no epoch" if newest is None else f"epoch {newest} as its newest"
            raise SinkError(
                f"{self._directory} shows epoch {published} of the sink {self._context.uid!r}, but the checkpoint "
                f"knows {known}: it is an older copy, and going on from it would write records twice. Use the newest "
                "checkpoint of the job, or write to another directory"
            )
        if newest is not None:
            self._remove_leftovers(newest)

    def _publish(self, epoch: EpochId, token: Token) -> None:
        staged = self._directory / token["staged"]
        final = self._directory / token["final"]
        if final.exists():
            if final.stat().st_size != token["bytes"]:
                raise SinkError(
                    f"{final} exists and is not what epoch {epoch} wrote: it has {final.stat().st_size} bytes "
                    f"instead of {token['bytes']}. Something else writes files of these names: use another "
                    "directory, prefix or uid"
                )
            return
        try:
            staged.rename(final)
        except FileNotFoundError:
            raise SinkError(
                f"{token['records']} records of epoch {epoch} are lost: neither {final} nor the staged file "
                f"{staged} exists. Either one was removed, or the workers do not write to the directory that the "
                "driver sees under this path"
            ) from None

    def _published(self) -> EpochId | None:
        """The last epoch that the marker says was published; raises when the marker is another job's."""
        try:
            content = self._marker.read_bytes()
        except FileNotFoundError:
            return None
        try:
            marker = json.loads(content)
            job_id: str = marker["job"]
            epoch = EpochId(*marker["epoch"])
        except (ValueError, KeyError, TypeError) as problem:
            raise SinkError(f"{self._marker} is damaged: it does not say which epoch was published last") from problem
        if job_id != self._context.job_id:
            raise SinkError(
                f"{self._directory} holds the output of another job ({job_id}) from a sink with the same uid "
                f"{self._context.uid!r}; this is job {self._context.job_id}. To go on with that job start from its "
                f"checkpoint; otherwise write to another directory, give the sink another uid, or remove {self._marker}"
            )
        return epoch

    def _mark(self, epoch: EpochId) -> None:
        content = json.dumps({"job": self._context.job_id, "uid": self._context.uid, "epoch": list(epoch)})
        temporary = self._marker.with_name(f".tmp-{uuid.uuid4().hex}")
        try:
            with temporary.open("x") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._marker)
            sync_directory(self._marker.parent)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _remove_leftovers(self, newest: EpochId) -> None:
        staged = _staging_of_sink(self._directory, self._context.uid, self._context.job_id)
        if not staged.is_dir():
            return
        for directory in staged.iterdir():
            incarnation, _, number = directory.name.partition("-")
            if not (incarnation.isdigit() and number.isdigit()):
                continue
            # Those of the newest epoch may still have to be published.
            if EpochId(int(incarnation), int(number)) < newest:
                shutil.rmtree(directory, ignore_errors=True)
