"""The log of manifests: numbered files, each put once, each naming the one before by hash. It is the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.common.errors import CheckpointError, FencedError
from penstock.common.fail_points import reach
from penstock.engine.epochs.manifest import EPOCH, TAKEOVER, Manifest, manifest_from_bytes, manifest_hash
from penstock.state.storage import CheckpointStorage

_DIRECTORY = "manifests"
_TAKEOVER_ATTEMPTS = 50


@dataclass(frozen=True)
class LogEntry:
    """A manifest and the hash of its bytes."""

    manifest: Manifest
    hash: str


class ManifestLog:
    """Reads the log and appends to it on behalf of one driver."""

    def __init__(self, storage: CheckpointStorage, token: str) -> None:
        self._storage = storage
        self._token = token
        self._newest: LogEntry | None = None

    @property
    def location(self) -> str:
        """Where the log is, as messages show it."""
        return self._storage.location

    @property
    def newest(self) -> LogEntry | None:
        """The manifest that this driver works from."""
        return self._newest

    def numbers(self) -> list[int]:
        """The numbers of the manifests that are there, ascending."""
        names = (path.rsplit("/", 1)[-1].partition(".") for path in self._storage.list(_DIRECTORY))
        return sorted(int(name) for name, _, end in names if end == "json" and name.isdecimal())

    def read(self, number: int) -> LogEntry:
        """One manifest, verified."""
        path = _path(number)
        data = self._storage.read(path)
        manifest = manifest_from_bytes(data, f"{self._storage.location}/{path}")
        if manifest.number != number:
            raise CheckpointError(
                f"the manifest {self._storage.location}/{path} says that its number is {manifest.number}: "
                "it was copied or renamed. Restore the original."
            )
        return LogEntry(manifest, manifest_hash(data))

    def read_newest(self) -> LogEntry | None:
        """The end of the log, after checking that it continues its predecessor."""
        numbers = self.numbers()
        if not numbers:
            return None
        newest = self.read(numbers[-1])
        if len(numbers) > 1:
            before = self.read(numbers[-2])
            if before.manifest.number + 1 != newest.manifest.number:
                raise CheckpointError(
                    f"the manifest log in {self._storage.location} has a gap between {before.manifest.number} and "
                    f"{newest.manifest.number}. The directory is not one job's whole log; restore the missing files."
                )
            if newest.manifest.parent != before.hash:
                raise CheckpointError(
                    f"the manifest {newest.manifest.number} in {self._storage.location} does not continue "
                    f"{before.manifest.number}: the directory mixes files of two histories (a restored backup?). "
                    "Use a directory that holds one history."
                )
        return newest

    def newest_epoch(self) -> Manifest | None:
        """The newest manifest that is an epoch's own: the one whose output may not be published yet."""
        for number in reversed(self.numbers()):
            manifest = self.read(number).manifest
            if manifest.kind == EPOCH:
                return manifest
            if manifest.newest_epoch is not None:
                # Not whatever comes before: a driver that was fenced may put its epoch where a takeover was removed.
                return self.read(manifest.newest_epoch).manifest if manifest.newest_epoch else None
        return None

    def take_over(
        self,
        first: Manifest,
        only_from: int | None = None,
        *,
        started: Callable[[Manifest], Manifest] = lambda first: first,
        continued: Callable[[Manifest], Manifest] = lambda newest: newest,
    ) -> Manifest:
        """Makes this driver the writer of the log: whoever wrote before loses the next put.

        `first` is the manifest of a job that has none yet; otherwise its predecessor's state is carried on. A driver
        that has been the writer before, and is not any more, does not become it again. `only_from` takes over from
        this manifest alone, and from no driver that has come between. `started` and `continued` make what is put of
        the first manifest and of the predecessor. Raises `FencedError`.
        """
        for _ in range(_TAKEOVER_ATTEMPTS):
            newest = self.read_newest()
            if newest is None:
                beginning = started(first)
                manifest = replace(
                    beginning,
                    number=beginning.number + 1,
                    kind=TAKEOVER,
                    token=self._token,
                    parent=None,
                    newest_epoch=0,
                )
            else:
                self._refuse_if_fenced(newest.manifest, only_from)
                manifest = replace(
                    continued(newest.manifest),
                    number=newest.manifest.number + 1,
                    kind=TAKEOVER,
                    token=self._token,
                    parent=newest.hash,
                    tokens=None,
                    newest_epoch=newest.manifest.number
                    if newest.manifest.kind == EPOCH
                    else newest.manifest.newest_epoch,
                )
            if self._put(manifest):
                self._remove_takeover_before(manifest.number - 1)
                return manifest
        raise FencedError(
            f"another driver keeps writing to {self._storage.location}; stop it before starting this job again"
        )

    def check_writer(self) -> None:
        """Raises `FencedError` where another driver has taken over. Reads no file as long as none has."""
        newest = max(self.numbers(), default=0)
        if self._newest is not None and newest > self._newest.manifest.number:
            self._refuse_if_fenced(self.read(newest).manifest, None)

    def append(self, manifest: Manifest) -> None:
        """Puts the next manifest; losing the put means that another driver has taken over."""
        reach("manifest.before")
        if not self._put(manifest):
            raise self._fenced(self.read(manifest.number).manifest)
        # The name may have been free again: the driver that took over removes what it does not need any more.
        newest = self.numbers()[-1]
        if newest > manifest.number:
            self.remove(manifest.number)
            raise self._fenced(self.read(newest).manifest)
        reach("manifest.after")

    def _refuse_if_fenced(self, newest: Manifest, only_from: int | None) -> None:
        was_writer = self._newest is not None
        if (was_writer and newest.token != self._token) or (only_from is not None and newest.number != only_from):
            raise self._fenced(newest)

    def _fenced(self, other: Manifest) -> FencedError:
        return FencedError(
            f"another driver has taken over the job '{other.job_name}' in {self._storage.location} "
            f"(manifest {other.number} is {other.token}'s). This driver stops; nothing of its last epoch was "
            "published."
        )

    def _remove_takeover_before(self, number: int) -> None:
        """A job that is started again and again without an epoch in between leaves no trail."""
        numbers = [each for each in self.numbers() if each < number]
        if number in self.numbers() and numbers and self.read(number).manifest.kind == TAKEOVER:
            older = self.read(numbers[-1]).manifest
            if older.kind == TAKEOVER:
                self.remove(older.number)

    def remove(self, number: int) -> None:
        """Forgets an old manifest."""
        self._storage.delete(_path(number))

    def _put(self, manifest: Manifest) -> bool:
        data = manifest.to_bytes()
        path = _path(manifest.number)
        # A put whose answer was lost counts as won when the bytes that are there are ours.
        if not self._storage.put_if_absent(path, data) and self._storage.read(path) != data:
            return False
        self._newest = LogEntry(manifest, manifest_hash(data))
        return True


def _path(number: int) -> str:
    return f"{_DIRECTORY}/{number:020d}.json"
