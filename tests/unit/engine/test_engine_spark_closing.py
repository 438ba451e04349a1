"""Jobs that are closed in the workers of Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.engine.spark.closing import close_in_workers


class Session:
    """Runs no task; keeps what a task would find where tasks meet."""

    def __init__(self) -> None:
        self.sparkContext = SimpleNamespace(master="spark://host:7077", setJobDescription=lambda _: None)
        self.found: list[str] | None = None

    def range(self, *_numbers: int) -> Session:
        return self

    def mapInArrow(self, close: Any, _schema: str) -> Session:  # noqa: N802  as PySpark calls it
        place = close.meeting_place
        self.found = sorted(each.name for each in place.iterdir()) if place.is_dir() else []
        return self

    def collect(self) -> list[Any]:
        return []


def closed(directory: Path) -> Session:
    environment = SimpleNamespace(job_id="job", storage=SimpleNamespace(resolve=lambda name: directory / name))
    session, job = Session(), SimpleNamespace(name="job", chains=[])
    setup: Any = SimpleNamespace(environment=environment)
    close_in_workers(session, job, setup, lambda _: None, 2)  # pyright: ignore[reportArgumentType]
    return session


def test_tasks_do_not_meet_those_of_a_driver_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "closing" / "job").mkdir(parents=True)
    (tmp_path / "closing" / "job" / "1").touch()
    assert closed(tmp_path).found == []


def test_a_job_is_closed_also_where_tasks_cannot_meet(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "closing").touch()
    assert closed(tmp_path).found == []
    assert "could not be closed" not in caplog.text
