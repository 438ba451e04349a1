"""Which files are there: directories, single files and glob patterns, on any file system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from penstock.common.errors import SourceError
from penstock.connectors.files.file_system import FileSystem, file_system_of, name_of

_GLOB = re.compile(r"[*?\[]")
IN_PROGRESS_SUFFIXES = ("._COPYING_", ".inprogress", ".tmp")


class ListedFile(NamedTuple):
    """A file as it was when it was listed; files sort by the time of their last change, then by path."""

    modified_ns: int
    path: str
    size: int


def list_files(paths: Iterable[str], *, recursive: bool = False) -> list[ListedFile]:
    """The files under `paths`, oldest first.

    A path is a file, a directory (its files; with `recursive` those of its sub-directories too) or a glob pattern
    (`*`, `?`, `[...]`, and `**` for any number of directories). Names that begin with `.` or `_`, and those that end
    like files that are still being written, are hidden: they and what is under them are left out, unless the path
    itself names them. A path that does not exist is an error, a pattern that matches nothing is not.
    """
    found: dict[str, ListedFile] = {}
    for path in paths:
        file_system = file_system_of(path)
        for listed in _under(file_system, file_system.absolute(path), recursive):
            found[listed.path] = listed
    return sorted(found.values())


def _under(file_system: FileSystem, path: str, recursive: bool) -> Iterator[ListedFile]:
    status = file_system.status(path)
    if status is not None:
        yield ListedFile(status.modified_ns, path, status.size)
    elif file_system.is_directory(path):
        yield from _in_directory(file_system, path, recursive)
    elif _GLOB.search(path):
        base, parts = _cut_before_pattern(path)
        for match in _matches(file_system, base, parts):
            status = file_system.status(match)
            if status is not None:
                yield ListedFile(status.modified_ns, match, status.size)
            elif file_system.is_directory(match):
                yield from _in_directory(file_system, match, recursive)
    else:
        raise SourceError(f"{path}: no such file or directory")


def _in_directory(file_system: FileSystem, directory: str, recursive: bool) -> Iterator[ListedFile]:
    for entry in file_system.entries(directory):
        if is_hidden(name_of(entry.path)):
            continue
        if entry.status is not None:
            yield ListedFile(entry.status.modified_ns, entry.path, entry.status.size)
        elif recursive and file_system.is_directory(entry.path):
            yield from _in_directory(file_system, entry.path, recursive)


def is_hidden(name: str) -> bool:
    """Whether a name says that the file is not for readers, or not yet."""
    return name.startswith((".", "_")) or name.endswith(IN_PROGRESS_SUFFIXES)


def _cut_before_pattern(path: str) -> tuple[str, list[str]]:
    parts = path.split("/")
    first = next(index for index, part in enumerate(parts) if _GLOB.search(part))
    return "/".join(parts[:first]) or "/", parts[first:]


def _matches(file_system: FileSystem, base: str, parts: list[str]) -> Iterator[str]:
    """The paths below `base` whose parts match the patterns; patterns do not match hidden names."""
    if not parts:
        yield base
        return
    part, rest = parts[0], parts[1:]
    if not _GLOB.search(part):
        # It may name what is hidden; whether it is there is seen by whoever looks at it.
        yield from _matches(file_system, f"{base.rstrip('/')}/{part}", rest)
        return
    if part == "**":
        yield from _matches(file_system, base, rest)
    for entry in file_system.entries(base):
        name = name_of(entry.path)
        if is_hidden(name):
            continue
        if part == "**":
            if entry.status is None:
                yield from _matches(file_system, entry.path, parts)
            elif not rest:
                yield entry.path
        elif fnmatchcase(name, part) and (not rest or entry.status is None):
            yield from _matches(file_system, entry.path, rest)
