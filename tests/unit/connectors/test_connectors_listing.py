from __future__ import annotations

import os
from pathlib import Path

import fsspec
import pytest

from penstock.common.errors import ConfigurationError, SourceError
from penstock.connectors.files.listing import list_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for age, name in enumerate(["new.txt", "b.txt", "a.txt", "_half.txt", ".hidden.txt", "sub/deep.txt", "_tmp/x.txt"]):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x" * age)
        os.utime(path, ns=(0, (100 - age) * 1_000_000))
    return tmp_path


def names(files, folder: Path) -> list[str]:
    return [str(Path(file.path).relative_to(folder)) for file in files]


def test_files_come_oldest_first_without_hidden_ones(folder):
    assert names(list_files([str(folder)]), folder) == ["a.txt", "b.txt", "new.txt"]


def test_files_of_one_time_come_by_name(folder):
    for name in ("a.txt", "b.txt", "new.txt"):
        os.utime(folder / name, ns=(0, 7))
    assert names(list_files([str(folder)]), folder) == ["a.txt", "b.txt", "new.txt"]


def test_sub_directories_are_read_when_asked_for(folder):
    assert names(list_files([str(folder)], recursive=True), folder) == ["sub/deep.txt", "a.txt", "b.txt", "new.txt"]


def test_a_pattern_names_files_and_leaves_hidden_ones_out(folder):
    assert names(list_files([f"{folder}/*a*.txt"]), folder) == ["a.txt"]
    assert names(list_files([f"{folder}/**/*.txt"]), folder) == ["sub/deep.txt", "a.txt", "b.txt", "new.txt"]


def test_a_pattern_that_matches_nothing_is_empty(folder):
    assert list_files([f"{folder}/*.csv"]) == []


def test_a_hidden_file_is_read_when_it_is_named(folder):
    assert names(list_files([f"file://{folder}/_half.txt"]), folder) == ["_half.txt"]


def test_a_file_named_twice_is_listed_once(folder):
    assert names(list_files([f"{folder}/a.txt", str(folder)]), folder) == ["a.txt", "b.txt", "new.txt"]


def test_what_does_not_exist_is_an_error(folder):
    with pytest.raises(SourceError, match="missing: no such file"):
        list_files([f"{folder}/missing"])


def test_files_that_are_being_written_are_left_alone(folder):
    for name in ("x.inprogress", "y.tmp", "z.txt._COPYING_"):
        (folder / name).write_text("half")
    assert names(list_files([str(folder)]), folder) == ["a.txt", "b.txt", "new.txt"]


def test_an_unknown_file_system_is_an_error():
    with pytest.raises(ConfigurationError, match="nosuch://"):
        list_files(["nosuch://bucket/x"])


def test_files_of_another_file_system_are_found_like_local_ones():
    storage = fsspec.filesystem("memory")
    for name in ("a.txt", "sub/b.txt", "_half.txt", "sub/c.csv"):
        storage.pipe(f"/listing/{name}", b"x")
    found = [file.path for file in list_files(["memory://listing"], recursive=True)]
    assert sorted(found) == ["memory://listing/a.txt", "memory://listing/sub/b.txt", "memory://listing/sub/c.csv"]
    assert [file.path for file in list_files(["memory://listing/**/*.csv"])] == ["memory://listing/sub/c.csv"]
    assert [file.size for file in list_files(["memory://listing/a.txt"])] == [1]
