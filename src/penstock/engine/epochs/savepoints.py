"""Makes savepoints: of a checkpoint that nobody works on, and of a running job between two of its epochs."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

from penstock.common.errors import CheckpointError, PenstockError
from penstock.common.logs import about_the_same
from penstock.engine.epochs.event_time_restore import merged_inputs
from penstock.engine.epochs.job_snapshot import CheckpointSnapshot
from penstock.engine.epochs.manifest import Manifest
from penstock.engine.epochs.snapshot_parts import CheckpointPart
from penstock.engine.epochs.spreading import Spread, in_this_process, spread_for
from penstock.engine.epochs.waiting_output import sinks_that_hold_output
from penstock.state.savepoints.header import OperatorDescription, SavepointHeader
from penstock.state.savepoints.subtask_tables import SubtaskTables, write_subtask
from penstock.state.savepoints.writing import SavepointWriter
from penstock.state.storage import CheckpointStorage, open_storage
from penstock.state.stored_states import opened_state


def write_savepoint(
    storage: CheckpointStorage,
    manifest: Manifest,
    target: CheckpointStorage,
    *,
    published: bool = True,
    spread: Spread = in_this_process,
) -> SavepointHeader:
    """Writes the state of a job as of a manifest to an empty directory; the state of each subtask in a task of its own.

    `published` says whether it is known that all output of the manifest's epoch is out.
    """
    if target.list(""):
        raise CheckpointError(f"{target.location} is not empty: choose another directory for the savepoint")
    waiting = sinks_that_hold_output(storage, manifest, manifest.driver_head)
    if waiting:
        raise CheckpointError(
            f"the sinks {', '.join(waiting)} hold output back that is not published yet: it belongs to the checkpoint, "
            "and is not in a savepoint. Let the job run and stop it with a savepoint: that publishes it."
        )
    snapshot = CheckpointSnapshot(storage, manifest)
    writer = SavepointWriter(target, snapshot.header.operators)
    parts = snapshot.parts()
    work = partial(_write_subtask, target, snapshot.header.operators)
    for tables in spread_for(sum(part.size for part in parts), spread)(work, parts):
        writer.add(tables)
    by_uid = {each.uid: each for each in snapshot.header.operators}
    header = replace(
        snapshot.header,
        event_time={uid: merged_inputs(by_uid[uid], gates) for uid, gates in writer.gates.items()},
        generators=writer.generators,
        published=published,
    )
    return writer.finish(header)


def _write_subtask(
    target: CheckpointStorage, operators: tuple[OperatorDescription, ...], part: CheckpointPart
) -> SubtaskTables:
    with opened_state(part.storage, part.head) as store:
        return write_subtask(target, operators, part.subtask, store)


def savepoint_name(job_id: str) -> str:
    """A new name for a savepoint in a directory of savepoints."""
    return f"savepoint-{job_id[:6]}-{uuid.uuid4().hex[:12]}"


@dataclass
class SavepointRequest:
    """Somebody wants a savepoint of a running job."""

    directory: str
    stops: bool = False
    """Whether the job ends with it."""
    drains: bool = False
    """Whether event time is brought to its end before."""
    result: Future[str] = field(default_factory=Future[str])


class SavepointRequests:
    """Between those who ask for savepoints, from any thread, and the driver loop, which lets them be made."""

    def __init__(self, storage: CheckpointStorage, spread: Spread = in_this_process) -> None:
        self._storage = storage
        self._spread = spread
        self._lock = threading.Lock()
        self._waiting: list[SavepointRequest] = []
        self._ended: PenstockError | None = None
        self._writing: list[threading.Thread] = []
        self.asked = threading.Event()
        """Set while somebody waits."""

    def ask(self, request: SavepointRequest) -> Future[str]:
        """Takes a request; the answer is the savepoint's path."""
        with self._lock:
            if self._ended is not None:
                request.result.set_exception(self._ended)
            else:
                self._waiting.append(request)
                self.asked.set()
        return request.result

    @property
    def is_writing(self) -> bool:
        """Whether files of the checkpoint are being read, and must not be removed."""
        return any(thread.is_alive() for thread in self._writing)

    def take(self) -> list[SavepointRequest]:
        """The requests that the next epoch is for."""
        with self._lock:
            taken, self._waiting = self._waiting, []
            self.asked.clear()
        return taken

    def give_back(self, requests: list[SavepointRequest]) -> None:
        """The epoch has not happened: the requests wait for another one."""
        with self._lock:
            self._waiting = [*requests, *self._waiting]
            if self._waiting:
                self.asked.set()

    def serve(self, requests: list[SavepointRequest], manifest: Manifest) -> None:
        """Writes savepoints of an epoch that is published, beside the work on the next one."""
        for request in requests:
            write = about_the_same(self._write)
            thread = threading.Thread(target=write, args=(request, manifest), name="penstock-savepoint")
            thread.start()
            self._writing.append(thread)
        self._writing = [thread for thread in self._writing if thread.is_alive()]

    def wait(self) -> None:
        """Returns when all that were begun are written."""
        for thread in self._writing:
            thread.join()
        self._writing.clear()

    def end(self, reason: str) -> None:
        """The job is over: whoever still waits is told."""
        self.wait()
        with self._lock:
            self._ended = CheckpointError(reason)
            waiting, self._waiting = self._waiting, []
        for request in waiting:
            request.result.set_exception(self._ended)

    def _write(self, request: SavepointRequest, manifest: Manifest) -> None:
        try:
            path = f"{request.directory.rstrip('/')}/{savepoint_name(manifest.job_id)}"
            target = open_storage(path)
            write_savepoint(self._storage, manifest, target, spread=self._spread)
        except BaseException as error:
            request.result.set_exception(error)
        else:
            request.result.set_result(target.location)
