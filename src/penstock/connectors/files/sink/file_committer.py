"""Publishes staged files by renaming them, and keeps a note of the last epoch that was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.common.errors import SinkError
from penstock.common.fail_points import reach
from penstock.connectors.files.file_system import directory_of, file_system_of, name_of
from penstock.connectors.files.sink.file_assembly import FileAssembly
from penstock.connectors.files.sink.file_merger import merged_name
from penstock.connectors.files.sink.published_note import PublishedNote
from penstock.connectors.files.sink.settings import FileSinkSettings
from penstock.connectors.files.sink.staged_parts import check_staged_parts
from penstock.connectors.sink import Committer, CommitterContext, EpochEnd, EpochId, Token


class FileCommitter(Committer):
    """One per sink, on the driver."""

    def __init__(self, settings: FileSinkSettings, context: CommitterContext) -> None:
        self._settings = settings
        self._directory = settings.directory
        self._context = context
        self._file_system = file_system_of(settings.directory)
        self._note = PublishedNote(settings.directory, context)
        self._assembly = FileAssembly(settings, context.parallelism)
        self._held_back: frozenset[str] | None = None
        """Staged parts of later epochs' files; None: not known yet, so that nothing may be cleaned up."""

    def gather(self, tokens: Mapping[int, Sequence[Token]], end: EpochEnd) -> Mapping[int, Sequence[Token]]:
        """Decides which files are complete, and which of them readers get to see."""
        published = self._assembly.gather(tokens, end)
        self._held_back = self._assembly.held_back
        return published

    def next_due(self) -> int | None:
        """When a file that goes on has to end."""
        return self._assembly.next_due

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        """Renames the epoch's files into view; what is in view already stays as it is."""
        if not tokens:
            return
        published = self._note.newest()
        files = [token for token in tokens if "final" in token]
        if published is not None and published >= epoch:
            # They may have been taken away since by whoever reads the directory.
            self._remove_parts(files)
            return
        try:
            for token in files:
                self._publish(epoch, token)
            self._file_system.sync_names(sorted({directory_of(self._path(token["final"])) for token in files}))
            reach("sink.files.renamed")
            self._mark_complete([token["complete"] for token in tokens if "complete" in token])
            is_newest = self._note.write(epoch)
            reach("sink.files.marked")
            if is_newest:
                self._clean_up(epoch, files)
            else:
                # Another driver has taken over, and may be at its merged files. Where it overtakes this one only now,
                # `_clean_up` can still remove one before it is renamed: that driver fails, and merges again.
                self._remove_parts(files)
        except OSError as problem:
            raise SinkError(f"the file sink cannot publish epoch {epoch} in {self._directory}: {problem}") from problem

    def recover(self, newest: EpochId | None) -> None:
        """Refuses a directory that shows more than the checkpoint knows, or what another job wrote."""
        published = self._note.newest()
        if published is not None and (newest is None or published > newest):
            known = "no epoch" if newest is None else f"epoch {newest} as its newest"
            raise SinkError(
                f"{self._directory} shows epoch {published} of the sink {self._context.uid!r}, but the checkpoint "
                f"knows {known}: it is an older copy, and going on from it would write records twice. Use the newest "
                "checkpoint of the job, or write to another directory"
            )

    def _path(self, relative: str) -> str:
        return f"{self._directory}/{relative}"

    def _publish(self, epoch: EpochId, token: Token) -> None:
        if self._is_published(epoch, token):
            return
        final, staged = self._path(token["final"]), token["parts"][0]
        if len(token["parts"]) > 1:
            staged = merged_name(self._settings, self._context.uid, self._context.job_id, token)
        else:
            check_staged_parts(self._file_system, self._directory, token)
        try:
            self._file_system.move(self._path(staged), final)
        except FileNotFoundError:
            if self._is_published(epoch, token):
                return  # another driver of the job, which is about to be stopped, was a moment faster
            raise SinkError(
                f"{token['records']} records of epoch {epoch} are lost: neither {final} nor the staged file "
                f"{self._path(staged)} exists. Either one was removed, or the workers do not write to the directory "
                "that the driver sees under this path"
            ) from None

    def _is_published(self, epoch: EpochId, token: Token) -> bool:
        final = self._path(token["final"])
        there = self._file_system.status(final)
        if there is not None and len(token["parts"]) == 1 and there.size != token["bytes"]:
            raise SinkError(
                f"{final} exists and is not what epoch {epoch} wrote: it has {there.size} bytes "
                f"instead of {token['bytes']}. Something else writes files of these names: use another "
                "directory, prefix or uid"
            )
        return there is not None

    def _mark_complete(self, buckets: Sequence[str]) -> None:
        """Tells readers of buckets that get no more records."""
        commit = self._settings.partition_commit
        for bucket in buckets:
            assert commit is not None
            self._file_system.replace(
                self._path(f"{bucket}/{commit.success_file}" if bucket else commit.success_file), b""
            )

    def _remove_parts(self, files: Sequence[Token]) -> None:
        for part in [part for token in files for part in token["parts"]]:
            self._file_system.remove(self._path(part))

    def _clean_up(self, epoch: EpochId, files: Sequence[Token]) -> None:
        """Removes what was merged, and what failed attempts have left behind in this epoch and those before."""
        if self._held_back is None:
            self._remove_parts(files)
            return
        held: dict[str, set[str]] = {}
        for part in self._held_back:
            held.setdefault(directory_of(part), set()).add(name_of(part))
        staging = self._settings.staging(self._context.uid, self._context.job_id)
        for directory in [entry.path for entry in self._file_system.entries(self._path(staging)) if not entry.status]:
            incarnation, _, number = name_of(directory).partition("-")
            if incarnation != "merged" and not (incarnation.isdigit() and number.isdigit()):
                continue
            if incarnation != "merged" and EpochId(int(incarnation), int(number)) > epoch:
                continue
            kept = held.get(f"{staging}/{name_of(directory)}")
            if not kept:
                self._file_system.remove_tree(directory)
                continue
            for entry in self._file_system.entries(directory):
                if name_of(entry.path) not in kept:
                    self._file_system.remove(entry.path)
