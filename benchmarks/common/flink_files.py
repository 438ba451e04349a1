"""The input as Flink reads it in the order of time: its readers take files in any order, so each gets one."""

from __future__ import annotations

import shutil
from pathlib import Path

from common.contender import Arguments
from common.inputs import input_files

READERS = 2


def one_file_per_reader(arguments: Arguments) -> Path:
    """A directory with as many files as there are readers, each in the order of time."""
    directory = arguments.work / "input"
    directory.mkdir()
    for reader in range(READERS):
        with (directory / f"reader-{reader}.json").open("wb") as target:
            for path in input_files(arguments.input)[reader::READERS]:
                with Path(path).open("rb") as source:
                    shutil.copyfileobj(source, target)
    return directory
