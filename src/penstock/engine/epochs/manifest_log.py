"""The log of manifests: numbered files, each put once, each naming the one before by hash. It is the truth."""

from __future__ import annotations

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
    def newest(self) -> LogEntry | None:
        """The manifest that this driver works from."""
        return self._newest

    def numbers(self) -> list[int]:
        """The numbers of the manifests that are there, ascending."""
        names = (path.rsplit("/", 1)[-1] for path in self._storage.list(_DIRECTORY))
        return sorted(int(name.removesuffix(".json")) for name in names if name.endswith(".json"))

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
        return None

    def take_over(self, first: Manifest) -> Manifest:
        """Makes this driver the writer of the log: whoever wrote before loses the next put.

        `first` is the manifest of a job that has none yet; otherwise its predecessor's state is carried on.
        """
        for _ in range(_TAKEOVER_ATTEMPTS):
            newest = self.read_newest()
            if newest is None:
                manifest = replace(first, number=1, kind=TAKEOVER, token=self._token, parent=None)
            else:
                manifest = replace(
                    newest.manifest,
                    number=newest.manifest.number + 1,
                    kind=TAKEOVER,
                    token=self._token,
                    parent=newest.hash,
                    tokens=None,
                )
            if self._put(manifest):
                return manifest
        raise FencedError(
            f"another driver keeps writing to {self._storage.location}; stop it before starting this job again"
        )

    def append(self, manifest: Manifest) -> None:
        """Puts the next manifest; losing the put means that another driver has taken over."""
        reach("manifest.before")
        if not self._put(manifest):
            other = self.read(manifest.number).manifest
            raise FencedError(
                f"another driver has taken over the job '{manifest.job_name}' in {self._storage.location} "
                f"(manifest {manifest.number} is {other.token}'s). This driver stops; nothing of its last epoch was "
                "published."
            )
        reach("manifest.after")

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
