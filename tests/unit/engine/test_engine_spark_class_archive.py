"""Where the archive of Spark's classes is, and what the JVM is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.engine.spark.class_archive import archive_path, java_options


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark of one jar, and a cache with nothing in it."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    (jars / "spark-core.jar").write_bytes(b"classes")
    return tmp_path


def test_other_jars_have_another_archive(home: Path) -> None:
    before = archive_path()
    assert archive_path() == before
    assert before.is_relative_to(home / "cache")
    (home / "spark" / "jars" / "spark-core.jar").write_bytes(b"other classes")
    changed = archive_path()
    (home / "spark" / "jars" / "more.jar").write_bytes(b"")
    assert len({before, changed, archive_path()}) == 3


def test_another_java_has_another_archive(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = archive_path()
    (home / "java" / "bin").mkdir(parents=True)
    (home / "java" / "bin" / "java").write_text("")
    monkeypatch.setenv("JAVA_HOME", str(home / "java"))
    assert archive_path() != before


def test_the_jvm_is_told_of_an_archive_that_exists(home: Path) -> None:
    assert java_options() == ""
    archive_path().parent.mkdir(parents=True)
    archive_path().write_bytes(b"")
    assert f"-XX:SharedArchiveFile={archive_path()}" in java_options()
