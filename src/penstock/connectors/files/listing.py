"""Which files are there: local directories, single files and glob patterns."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.common.errors import ConfigurationError, SourceError

_GLOB_CHARACTERS = frozenset("*?[")


class ListedFile(NamedTuple):
    """A file as it was when it was listed; files sort by the time of their last change, then by path."""

    modified_ns: int
    path: str
    size: int


def list_files(paths: Iterable[str], *, recursive: bool = False) -> list[ListedFile]:
    """The files under `paths`, oldest first.

    A path is a file, a directory (its files; with `recursive` those of its sub-directories too) or a glob pattern.
    Names that begin with `.` or `_` are hidden: they and what is under them are left out, unless the path itself
    names them. A path that does not exist is an error, a pattern that matches nothing is not.
    """
    found: dict[str, ListedFile] = {}
    for path in paths:
        for listed in _under(Path(local_path(path)).absolute(), recursive):
            found[listed.path] = listed
    return sorted(found.values())


def local_path(path: str) -> str:
    """The path without a `file:` scheme; any other scheme is an error."""
    scheme, separator, rest = path.partition("://")
    if not separator:
        return path.removeprefix("file:")
    if scheme != "file":
        raise ConfigurationError(
            f"{path}: files can be on local and mounted file systems, not on {scheme}://; mount it, or read it as a "
            "Spark DataFrame with from_dataframe"
        )
    return rest


def _under(path: Path, recursive: bool) -> Iterator[ListedFile]:
    if path.exists():
        yield from _file_or_directory(path, recursive)
    elif _GLOB_CHARACTERS.intersection(str(path)):
        for match in map(Path, glob.iglob(str(path), recursive=True)):  # noqa: PTH207  Path.glob refuses absolute patterns
            if not _is_hidden_below(match, path):
                yield from _file_or_directory(match, recursive)
    else:
        raise SourceError(f"{path}: no such file or directory")


def _is_hidden_below(match: Path, pattern: Path) -> bool:
    return any(_is_hidden(part) and part not in pattern.parts for part in match.parts)


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _file_or_directory(path: Path, recursive: bool) -> Iterator[ListedFile]:
    if not path.is_dir():
        yield from _listed(path)
        return
    try:
        entries = list(os.scandir(path))
    except FileNotFoundError:
        return
    for entry in entries:
        if _is_hidden(entry.name):
            continue
        if not entry.is_dir():
            yield from _listed(Path(entry.path))
        elif recursive:
            yield from _file_or_directory(Path(entry.path), recursive)


def _listed(path: Path) -> Iterator[ListedFile]:
    try:
        status = path.stat()
    except FileNotFoundError:
        # It was renamed or removed while we looked: as if we had looked a moment later.
        return
    if stat.S_ISREG(status.st_mode):
        yield ListedFile(status.st_mtime_ns, str(path), status.st_size)
