"""Files of the program that tasks open: copied into the checkpoint directory, which all of them see."""

from __future__ import annotations

import re
import shutil
import stat
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from penstock.common import options
from penstock.common.errors import ConfigurationError
from penstock.engine.python_dependencies import existing
from penstock.state.storage import CheckpointStorage

_DIRECTORY = "cached-files"
_ENTRY = re.compile(r"\s*name:(?P<name>[^,;]+),path:'(?P<path>[^']+)'(,executable:(?P<executable>true|false))?\s*")


@dataclass(frozen=True)
class CachedFile:
    """A file or directory, by name."""

    name: str
    path: str
    executable: bool = False

    def __str__(self) -> str:
        executable = ",executable:true" if self.executable else ""
        return f"name:{self.name},path:'{self.path}'{executable}"


def parse_cached_files(text: str) -> list[CachedFile]:
    """The files that the option `pipeline.cached-files` names, as Flink writes them.

    >>> parse_cached_files("name:model,path:'/data/model.bin'")
    [CachedFile(name='model', path='/data/model.bin', executable=False)]
    """
    files: list[CachedFile] = []
    for entry in filter(str.strip, text.split(";")):
        found = _ENTRY.fullmatch(entry)
        if found is None:
            raise ConfigurationError(
                f"{options.CACHED_FILES.key}: {entry!r} is not of the form name:<name>,path:'<path>'[,executable:true]"
            )
        files.append(CachedFile(found["name"].strip(), found["path"], found["executable"] == "true"))
    return files


def stage_cached_files(storage: CheckpointStorage, files: Iterable[CachedFile]) -> dict[str, str]:
    """Copies the files to where tasks find them, unless they are there; returns the path of each."""
    paths: dict[str, str] = {}
    for file in files:
        source = existing(options.CACHED_FILES.key, file.path)
        target = storage.resolve(f"{_DIRECTORY}/{_content_hash(source, file.executable)}") / quote(file.name, safe="")
        if not target.exists():
            _copy(source, target, executable=file.executable)
        paths[file.name] = str(target)
    return paths


def _copy(source: Path, target: Path, *, executable: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".tmp-{uuid.uuid4().hex}")
    if source.is_dir():
        shutil.copytree(source, unfinished)
    else:
        shutil.copyfile(source, unfinished)
    if executable:
        _make_executable(unfinished)
    try:
        unfinished.rename(target)
    except OSError:
        if not target.exists():
            raise
        shutil.rmtree(unfinished, ignore_errors=True)  # another start of the program was faster


def _content_hash(source: Path, executable: bool) -> str:
    digest = blake2b(b"executable" if executable else b"", digest_size=16)
    for path in sorted(path for path in (source, *source.rglob("*")) if path.is_file()):
        digest.update(f"{path.relative_to(source)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as content:
            while chunk := content.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def _make_executable(path: Path) -> None:
    for file in path.rglob("*") if path.is_dir() else (path,):
        if file.is_file():
            file.chmod(file.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
