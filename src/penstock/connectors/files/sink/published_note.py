"""Which epoch of a file sink was published last: a small hidden file in its directory."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

from penstock.common.errors import SinkError
from penstock.connectors.files.file_system import file_system_of, name_of
from penstock.connectors.files.sink.settings import HIDDEN
from penstock.connectors.sink import CommitterContext, EpochId


class PublishedNote:
    """What one sink of a job has noted.

    Every epoch has a note under a name of its own, and the newest one counts: a driver that was asleep while another
    took its place may write its note at any later time, and takes nothing back. Older notes are removed.
    """

    def __init__(self, directory: str, context: CommitterContext) -> None:
        self._directory = directory
        self._hidden = f"{directory}/{HIDDEN}"
        self._context = context
        self._file_system = file_system_of(directory)
        self._sink = quote(context.uid, safe="")
        # A quoted uid has no `@`. Without an epoch in its name it is a note of before there was one for each.
        self._names = re.compile(rf"{re.escape(self._sink)}(?:@(\d+)-(\d+))?\.json")

    def newest(self) -> EpochId | None:
        """The last epoch that was published; raises when it is another job's."""
        read = [self._read(path) for path in self._paths()]
        return max((epoch for epoch in read if epoch is not None), default=None)

    def write(self, epoch: EpochId) -> bool:
        """Notes that an epoch is published; False where a later one is noted already, by another driver."""
        path = f"{self._hidden}/{self._sink}@{epoch.incarnation}-{epoch.number}.json"
        content = json.dumps({"job": self._context.job_id, "uid": self._context.uid, "epoch": list(epoch)})
        self._file_system.replace(path, content.encode())
        notes = self._paths()
        newest = max(notes.values(), default=epoch)
        for older in [path for path, noted in notes.items() if noted < newest]:
            self._file_system.remove(older)
        return newest <= epoch

    def _paths(self) -> dict[str, EpochId]:
        """The notes that are there, with the epochs in their names."""
        try:
            paths = [entry.path for entry in self._file_system.entries(self._hidden)]
        except OSError as problem:
            raise SinkError(f"the file sink cannot read {self._hidden}: {problem}") from None
        found = [(path, self._names.fullmatch(name_of(path))) for path in paths]
        return {path: EpochId(int(match[1] or -1), int(match[2] or -1)) for path, match in found if match}

    def _read(self, path: str) -> EpochId | None:
        content = self._file_system.read(path)
        if content is None:
            return None  # removed a moment ago, since there is a newer one
        try:
            note = json.loads(content)
            job_id: str = note["job"]
            epoch = EpochId(*note["epoch"])
        except (ValueError, KeyError, TypeError) as problem:
            raise SinkError(f"{path} is damaged: it does not say which epoch was published last") from problem
        if job_id != self._context.job_id:
            raise SinkError(
                f"{self._directory} holds the output of another job ({job_id}) from a sink with the same uid "
                f"{self._context.uid!r}; this is job {self._context.job_id}. To go on with that job start from its "
                f"checkpoint; otherwise write to another directory, give the sink another uid, or remove {path}"
            )
        return epoch
