"""A stand-by driver waits while another runs the job, and takes over when that one is gone; never both."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from faults.matrix_job import write_matrix_input
from faults.matrix_oracle import MatrixOracle
from faults.matrix_processes import MatrixProcess
from faults.rolling_job import expected, published, start_job, write_input
from penstock.common import fail_points
from penstock.common.fail_points import SimulatedCrash
from penstock.common.job import JobStatus
from penstock.engine.epochs.driver_presence import DriverPresence, StandBy, Turn
from penstock.engine.epochs.manifest import EPOCH, Manifest
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.execution.job_client import JobClient
from penstock.state.storage import LocalCheckpointStorage

SECONDS = 60
STANDBY = {"execution.standby": "true", "execution.standby.timeout": "100 ms"}
FIRST = Manifest(
    number=0, kind=EPOCH, job_id="j", job_name="job", incarnation=1, token="", parent=None, fingerprint="f", plan={}
)


def start(directory: Path, **options: str) -> JobClient:
    return start_job(
        source=directory / "in",
        sink=directory / "out",
        checkpoint=directory / "checkpoint",
        options={"execution.engine": "local", "execution.epoch.max-records": "25", **options},
        noise=True,
    )


def noted_epochs(run: Path) -> dict[str, list[int]]:
    """The newest epoch that each file sink below `run` says it has published."""
    notes = [json.loads(path.read_text()) for path in run.rglob(".penstock/*.json")]
    return {note["uid"]: note["epoch"] for note in sorted(notes, key=lambda note: note["epoch"])}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    write_input(tmp_path / "in")
    return tmp_path


def test_a_stand_by_driver_goes_on_where_a_dead_one_was(directory: Path) -> None:
    manifests = 0

    def die(name: str) -> None:
        nonlocal manifests
        manifests += name == "manifest.after"
        if manifests == 3:
            raise SimulatedCrash(name)

    fail_points.arm(die)
    try:
        with pytest.raises(SimulatedCrash):
            start(directory).wait(SECONDS)
    finally:
        fail_points.arm(None)
    start(directory, **STANDBY).wait(SECONDS)
    assert published(directory / "out") == expected(directory / "in")


def test_a_stand_by_driver_waits_while_the_other_gives_signs_of_life_and_ends_with_it(directory: Path) -> None:
    held, go_on = threading.Event(), threading.Event()

    def hold(name: str) -> None:
        if name == "manifest.before" and not held.is_set():
            held.set()
            assert go_on.wait(SECONDS)

    fail_points.arm(hold)
    try:
        active = start(directory, **{"execution.standby.timeout": "100 ms"})
        assert held.wait(SECONDS)
        waiting = start(directory, **{**STANDBY, "execution.standby.timeout": "2 s"})
        assert not waiting.has_ended(within=2.5)
        assert waiting.status is JobStatus.CREATED
        go_on.set()
        active.wait(SECONDS)
        waiting.wait(SECONDS)
    finally:
        go_on.set()
        fail_points.arm(None)
    assert waiting.metrics()["epochs"] == 0
    assert published(directory / "out") == expected(directory / "in")


def test_a_driver_that_falls_asleep_is_followed_and_stops_when_it_wakes_up(tmp_path: Path) -> None:
    """Two processes: the first is held by SIGSTOP in the middle of an epoch, and knows nothing of the second."""
    source, run, mark = tmp_path / "in", tmp_path / "run", tmp_path / "asleep"
    write_matrix_input(source)
    options = {"execution.engine": "local", "execution.epoch.max-records": "16", "execution.standby.timeout": "1 s"}
    processes = [MatrixProcess(source, run, options, fail_points=f"sink.files.renamed@2=pause:{mark}")]
    try:
        assert processes[0].is_paused(mark, SECONDS), processes[0].log.read_text()
        processes.append(MatrixProcess(source, run, {**options, "execution.standby": "true"}))
        assert processes[1].wait(SECONDS) == 0, processes[1].log.read_text()
        noted = noted_epochs(run)
        processes[0].go_on()
        assert processes[0].wait(SECONDS) == 1
        assert "another driver has taken over the job" in processes[0].log.read_text()
    finally:
        for process in processes:
            process.end()
    assert MatrixOracle(source).differences(run) == []
    assert noted
    assert noted_epochs(run) == noted, "what its successor has noted as published stays"


def test_a_stand_by_driver_of_nobody_runs_the_job(directory: Path) -> None:
    start(directory, **STANDBY).wait(SECONDS)
    assert published(directory / "out") == expected(directory / "in")


def test_a_stand_by_driver_can_be_cancelled(directory: Path) -> None:
    log = ManifestLog(LocalCheckpointStorage(str(directory / "checkpoint")), "other")
    log.take_over(FIRST)
    waiting = start(directory, **{**STANDBY, "execution.standby.timeout": "1 h"})
    while waiting.status is not JobStatus.CREATED:
        assert not waiting.has_ended(within=0.01)
    waiting.cancel().result()
    assert waiting.status is JobStatus.CANCELED
    assert log.numbers() == [1], "nothing was taken over"


class Waits:
    """Counts waits, and does something at each."""

    def __init__(self, *actions: Any) -> None:
        self._actions = list(actions)
        self.count = 0

    def __call__(self, event: threading.Event, seconds: float) -> bool:
        self.count += 1
        if self._actions:
            self._actions.pop(0)()
        return False


def test_silence_is_measured_from_the_last_sign_of_life(tmp_path: Path) -> None:
    storage = LocalCheckpointStorage(str(tmp_path))
    active = ManifestLog(storage, "active")
    active.take_over(FIRST)
    waits = Waits(
        lambda: None,
        lambda: None,
        lambda: storage.put_if_absent("drivers/active-1", b""),
        lambda: None,
        lambda: storage.put_if_absent("drivers/active-2", b""),
    )
    turn, number = StandBy(storage, ManifestLog(storage, "waiting"), 1.0, waits).wait_for_turn(threading.Event())
    assert (turn, number) == (Turn.MINE, 1)
    assert waits.count == 5 + 4


def test_a_driver_that_ended_the_job_is_not_followed(tmp_path: Path) -> None:
    storage = LocalCheckpointStorage(str(tmp_path))
    ManifestLog(storage, "active").take_over(FIRST)
    presence = DriverPresence(storage, "active", 1000)
    presence.begin()
    presence.end(by_itself=True)
    turn, _ = StandBy(storage, ManifestLog(storage, "waiting"), 1.0, Waits()).wait_for_turn(threading.Event())
    assert turn is Turn.ENDED


def test_signs_of_life_do_not_pile_up(tmp_path: Path) -> None:
    storage = LocalCheckpointStorage(str(tmp_path))
    storage.put_if_absent("drivers/gone-7", b"")
    presence = DriverPresence(storage, "active", 0.001)
    presence.begin()
    seen = set[str]()
    while len(seen) < 5:
        seen.update(storage.list("drivers"))
        assert len(storage.list("drivers")) <= 2
    presence.end(by_itself=False)
    assert len(storage.list("drivers")) == 1
