"""What a failed epoch leaves behind so that it can be run again under a debugger: `failures/<epoch>-<run>.json`.

Plain JSON: the report with the traceback, record, key, state and watermark as text; what the epoch was to read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from penstock.common.errors import CheckpointError, FailureReport
from penstock.connectors.sink import EpochId
from penstock.connectors.source import EpochBudget, SplitRead
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.state.storage import CheckpointStorage

_DIRECTORY = "failures"
_KEPT = 10
_FORMAT = 1


@dataclass(frozen=True)
class FailedEpoch:
    """An epoch that failed: what went wrong, and what its tasks were told."""

    report: FailureReport
    header: EpochHeader
    tasks: tuple[tuple[PlannedRead, ...], ...]
    source_uids: Mapping[int, str] = field(default_factory=dict[int, str])
    """The uids of its sources by their node ids, which another order of statements changes."""

    def with_sources_of(self, job: CompiledJob) -> FailedEpoch:
        """The same for the sources of a job that has the same plan."""
        ids = {uid: node_id for node_id, uid in job.source_uids.items()}
        now = {old: ids[uid] for old, uid in self.source_uids.items() if uid in ids}
        return replace(
            self,
            header=replace(self.header, ended_sources=tuple(now.get(each, each) for each in self.header.ended_sources)),
            tasks=tuple(
                tuple(replace(read, source=now.get(read.source, read.source)) for read in task) for task in self.tasks
            ),
            source_uids=job.source_uids,
        )


def save_failed_epoch(storage: CheckpointStorage, failed: FailedEpoch) -> None:
    """Writes the record, and removes old ones. A directory that cannot be written to is no second failure."""
    path = f"{_DIRECTORY}/{failed.header.epoch.number:020d}-{failed.header.run:06d}.json"
    # Positions that are no JSON are a mistake of the source; here they are only not kept.
    with suppress(CheckpointError, TypeError, ValueError):
        content = {"format": _FORMAT, **asdict(failed)}
        storage.put_if_absent(path, json.dumps(content, indent=1).encode())
        for old in storage.list(_DIRECTORY)[:-_KEPT]:
            storage.delete(old)


def read_failed_epoch(storage: CheckpointStorage, number: int) -> FailedEpoch | None:
    """The last failure of an epoch; None where it has none. Raises `CheckpointError` for a file that is no record."""
    prefix = f"{_DIRECTORY}/{number:020d}-"
    paths = [path for path in storage.list(_DIRECTORY) if path.startswith(prefix)]
    return _decoded(storage, paths[-1]) if paths else None


def failed_epochs(storage: CheckpointStorage) -> list[int]:
    """The numbers of the epochs of which there are records, ascending."""
    names = (path.rsplit("/", 1)[-1].partition("-")[0] for path in storage.list(_DIRECTORY))
    return sorted({int(name) for name in names if name.isdigit()})


def _decoded(storage: CheckpointStorage, path: str) -> FailedEpoch:
    try:
        content = json.loads(storage.read(path))
        if content["format"] != _FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        header: dict[str, Any] = dict(content["header"])
        header["epoch"] = EpochId(*header["epoch"])
        header["budget"] = EpochBudget(**header["budget"])
        header["ended_sources"] = tuple(header["ended_sources"])
        return FailedEpoch(
            FailureReport(**content["report"]),
            EpochHeader(**header),
            tuple(tuple(map(_planned, task)) for task in content["tasks"]),
            {int(node_id): str(uid) for node_id, uid in content.get("source_uids", {}).items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(
            f"{path} in {storage.location} is no record of a failed epoch ({type(error).__name__}: {error})"
        ) from error


def _planned(stored: dict[str, Any]) -> PlannedRead:
    fields = dict(stored)
    if fields["read"] is not None:
        fields["read"] = SplitRead(**fields["read"])
    return PlannedRead(**fields)
