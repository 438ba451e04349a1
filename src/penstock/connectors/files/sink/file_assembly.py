"""Decides, at the end of an epoch, which staged parts are whole files, and which of those readers get to see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

from penstock.connectors.files.sink.rolling_policy import OpenFile
from penstock.connectors.files.sink.settings import FileSinkSettings
from penstock.connectors.sink import EpochEnd, Token

_OPEN = "open:"
_COMPLETE = "complete:"
_PARTITION = "partition:"
_COMPACTED = "compacted-"

Tokens = Mapping[int, Sequence[Token]]


class FileAssembly:
    """Works on the durable state of a sink, as JSON:

    - `open:<subtask>/<bucket>`: a file that goes on, with its parts and times;
    - `complete:<bucket>`: files that wait to be compacted;
    - `partition:<bucket>`: when the bucket got its first record since it was last marked as complete.

    Everything is decided by what the epoch says, never by this machine's clock: a restart decides the same. The program
    may have changed since a file was begun: what is in another format is published as it is.
    """

    def __init__(self, settings: FileSinkSettings, parallelism: int) -> None:
        self._settings = settings
        self._parallelism = parallelism
        self._format = [type(settings.writers).__name__, settings.suffix, settings.compression]
        self.held_back: frozenset[str] = frozenset()
        """The staged parts, by their paths, that later epochs are going to publish."""
        self.next_due: int | None = None

    def gather(self, tokens: Tokens, end: EpochEnd) -> dict[int, list[Token]]:
        """What is published with the epoch, by the subtask that has the work: files, and marks of complete buckets."""
        state = end.state
        complete: list[tuple[int, dict[str, Any]]] = []
        for subtask, of_subtask in sorted(tokens.items()):
            for token in of_subtask:
                self._note_partition(token["bucket"], end)
                complete += self._add(subtask, token, end)
        marked = list(self._complete_partitions(end))
        for key in [key for key in state if key.startswith(_OPEN)]:
            file = state[key]
            is_open = OpenFile(file["bytes"], file["created"], file["changed"])
            if end.is_last or file["bucket"] in marked or self._settings.rolling.is_complete(is_open, end.now):
                complete.append((_subtask_of(key), state.pop(key)))
        complete = self._to_compact(complete, end, marked)
        published: dict[int, list[Token]] = {}
        for subtask, file in complete:
            published.setdefault(subtask, []).append(_published(file))
        if marked:
            published.setdefault(0, []).extend({"complete": bucket} for bucket in marked)
        self._look_ahead(end)
        return published

    def _add(self, subtask: int, token: Token, end: EpochEnd) -> Iterator[tuple[int, dict[str, Any]]]:
        """Adds a staged part to the file that is open; yields files that are complete with it."""
        key = f"{_OPEN}{subtask}/{token['bucket']}"
        if key in end.state and not self._is_alike(end.state[key]):
            yield subtask, end.state.pop(key)
        so_far: Mapping[str, Any] = end.state.get(key) or {
            "bucket": token["bucket"],
            "name": token["name"],
            "format": self._format,
            "created": end.now,
            "parts": [],
            "bytes": 0,
            "records": 0,
        }
        # A new value: what the state holds is as of the last manifest until this epoch has one.
        file = {
            **so_far,
            "parts": [*so_far["parts"], token["staged"]],
            "bytes": so_far["bytes"] + token["bytes"],
            "records": so_far["records"] + token["records"],
            "changed": end.now,
        }
        if token["full"] or not self._goes_on(file):
            end.state.pop(key, None)
            yield subtask, file
        else:
            end.state[key] = file

    def _is_alike(self, file: Mapping[str, Any]) -> bool:
        """Whether a file is in the format that is written now; older versions have not put it down."""
        return file.get("format", self._format) == self._format

    def _goes_on(self, file: Mapping[str, Any]) -> bool:
        # Where every file ends with its epoch, each part is a file of its own.
        return self._settings.rolling.due(OpenFile(file["bytes"], file["created"], file["changed"])) is not None

    def _note_partition(self, bucket: str, end: EpochEnd) -> None:
        if self._settings.partition_commit is not None:
            end.state.setdefault(_PARTITION + bucket, {"created": end.now})

    def _complete_partitions(self, end: EpochEnd) -> Iterator[str]:
        commit = self._settings.partition_commit
        if commit is None:
            return
        reached = end.watermark if commit.trigger == "watermark" else end.now
        for key in [key for key in end.state if key.startswith(_PARTITION)]:
            bucket = key.removeprefix(_PARTITION)
            created: int = end.state[key]["created"]
            if end.is_last or commit.due(bucket, created, self._settings.buckets) <= reached:
                del end.state[key]
                yield bucket

    def _to_compact(
        self, complete: Sequence[tuple[int, dict[str, Any]]], end: EpochEnd, marked: Sequence[str]
    ) -> list[tuple[int, dict[str, Any]]]:
        """Adds files to those that wait; returns what is made of those that have waited long enough."""
        strategy = self._settings.compact_strategy
        state = end.state
        due: list[tuple[int, dict[str, Any]]] = []
        for subtask, file in complete:
            if strategy is None or not self._is_alike(file):
                due.append((subtask, file))
                continue
            key = _COMPLETE + file["bucket"]
            waiting = state.get(key, {"since": end.epoch.number, "files": []})
            state[key] = {**waiting, "files": [*waiting["files"], file]}
        for key in [key for key in state if key.startswith(_COMPLETE)]:
            bucket, waiting = key.removeprefix(_COMPLETE), state[key]
            size = sum(file["bytes"] for file in waiting["files"])
            epochs = end.epoch.number - waiting["since"] + 1
            if strategy is None or end.is_last or bucket in marked or strategy.is_due(size, epochs):
                del state[key]
                files = self._compacted(waiting["files"])
                due += [(crc32(bucket.encode()) % self._parallelism, file) for file in files]
        return due

    def _compacted(self, files: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """One file of those that have waited, and those that it cannot be made of."""
        alike = [file for file in files if self._settings.compact_strategy is not None and self._is_alike(file)]
        if alike:
            yield _compacted(alike) | {"compression": self._settings.compression}
        yield from (file for file in files if file not in alike)

    def _look_ahead(self, end: EpochEnd) -> None:
        held: list[str] = []
        due: list[int] = []
        for key in end.state:
            if key.startswith(_OPEN):
                file = end.state[key]
                held += file["parts"]
                time = self._settings.rolling.due(OpenFile(file["bytes"], file["created"], file["changed"]))
                due += [] if time is None else [time]
            elif key.startswith(_COMPLETE):
                held += [part for file in end.state[key]["files"] for part in file["parts"]]
            elif key.startswith(_PARTITION):
                commit = self._settings.partition_commit
                if commit is not None and commit.trigger == "processing-time":
                    created: int = end.state[key]["created"]
                    due.append(commit.due(key.removeprefix(_PARTITION), created, self._settings.buckets))
        self.held_back = frozenset(held)
        # Looked at when the interval says so: not an epoch for every file.
        interval = self._settings.bucket_check_interval
        self.next_due = -(-min(due) // interval) * interval if due else None


def _subtask_of(key: str) -> int:
    return int(key.removeprefix(_OPEN).partition("/")[0])


def _compacted(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = files[0]
    return {
        "bucket": first["bucket"],
        "name": _COMPACTED + first["name"],
        "files": [file["parts"] for file in files],
        "parts": [part for file in files for part in file["parts"]],
        "bytes": sum(file["bytes"] for file in files),
        "records": sum(file["records"] for file in files),
    }


def _published(file: Mapping[str, Any]) -> Token:
    """What publishers and the committer are told of a file."""
    final = f"{file['bucket']}/{file['name']}" if file["bucket"] else file["name"]
    token = {"final": final, "parts": file["parts"], "bytes": file["bytes"], "records": file["records"]}
    return token | {name: file[name] for name in ("files", "compression") if name in file}
