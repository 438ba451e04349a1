"""A manifest: the one record that makes an epoch true. Everything else is staged until a manifest names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.common.errors import CheckpointError
from penstock.connectors.sink import EpochId

FORMAT_VERSION = 1
TAKEOVER = "takeover"
EPOCH = "epoch"


@dataclass(frozen=True)
class Manifest:
    """The state of the whole job after one step of its log.

    A `takeover` carries its predecessor's state unchanged: it only says which driver writes from here on.
    """

    number: int
    kind: str
    job_id: str
    job_name: str
    incarnation: int
    token: str
    """The driver that wrote it."""
    parent: str | None
    """The hash of the manifest before; None for the first."""
    fingerprint: str
    """Of the plan: state fits only the plan that made it."""
    plan: Mapping[str, Any]
    """What `fingerprint` is made of, to say what differs."""
    index: str | None = None
    """Where the heads of all subtasks' state are listed."""
    driver_head: str | None = None
    """The head of the driver's own state: split table and enumerators."""
    tokens: str | None = None
    """Where this epoch's sink tokens are; None when it has no output."""
    final: bool = False
    """All sources have ended and all is done: a restart only publishes."""
    next_timer: int | None = None
    now: int = 0
    """Processing time of the epoch: time never goes back after a restart."""
    records: Mapping[str, int] = field(default_factory=dict[str, int])
    """Running totals: `read`, the records read since the job's first start."""
    operator_records: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """The same of each operator, by uid: records in and out, and those that were dropped as late."""
    plan_path: str | None = None
    """Where the plan is described: what operators there are, who runs in which chain."""
    restored_from: str | None = None
    """The savepoint that the job was started from."""
    restored_epoch: tuple[int, int] | None = None
    """The epoch of that savepoint: what sinks may show already."""
    newest_epoch: int | None = None
    """Of a `takeover`: the number of the newest epoch before it; 0: there is none; None: an older Penstock wrote it."""
    version: int = FORMAT_VERSION

    @property
    def epoch(self) -> EpochId:
        """The epoch's identity."""
        return EpochId(self.incarnation, self.number)

    @property
    def operator_uids(self) -> list[str]:
        """The uids of the operators in its plan, sorted; the plan says other things, too."""
        return sorted(uid for uid, text in self.plan.items() if ", parallelism " in str(text))

    def to_bytes(self) -> bytes:
        """The manifest as it is stored: JSON with a checksum line."""
        body = json.dumps(asdict(self), sort_keys=True, indent=1).encode()
        return body + b"\n" + _digest(body).encode() + b"\n"


def manifest_hash(data: bytes) -> str:
    """The hash by which the next manifest names this one."""
    return _digest(data)


def manifest_from_bytes(data: bytes, where: str) -> Manifest:
    """The manifest again; anything but what was written is an error that names the file."""
    body, _, checksum = data.rstrip(b"\n").rpartition(b"\n")
    if _digest(body).encode() != checksum:
        raise CheckpointError(
            f"the manifest {where} is damaged: its checksum does not fit its content. "
            "Restore the file from a copy, or remove it to go on from the manifest before it "
            "(sinks that already show its epoch will then refuse)."
        )
    return _checked(body, where)


def _checked(body: bytes, where: str) -> Manifest:
    """A checksum says that nothing has changed, not who wrote it: each field must be what it is meant to be."""
    try:
        fields = json.loads(body)
        version = fields.get("version")
    except (ValueError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"the manifest {where} is no JSON object: {error}") from error
    if version != FORMAT_VERSION:
        raise CheckpointError(
            f"the manifest {where} has format version {version}; this Penstock reads {FORMAT_VERSION}"
        )
    try:
        manifest = Manifest(**fields)
    except TypeError as error:
        raise CheckpointError(f"the manifest {where} does not have the fields of a manifest: {error}") from error
    for name, kinds in _FIELDS.items():
        value = getattr(manifest, name)
        if type(value) not in kinds:
            raise CheckpointError(f"the manifest {where} has {value!r} as its '{name}', which cannot be")
    counted = (manifest.records, *manifest.operator_records.values())
    if not all(type(each) is dict and all(type(count) is int for count in each.values()) for each in counted):
        raise CheckpointError(f"the manifest {where} has counts of records that are no numbers")
    return manifest


_TEXT, _TEXT_OR_NONE, _NUMBER = (str,), (str, type(None)), (int,)
_FIELDS: Mapping[str, tuple[type, ...]] = {
    "number": _NUMBER,
    "kind": _TEXT,
    "job_id": _TEXT,
    "job_name": _TEXT,
    "incarnation": _NUMBER,
    "token": _TEXT,
    "parent": _TEXT_OR_NONE,
    "fingerprint": _TEXT,
    "plan": (dict,),
    "index": _TEXT_OR_NONE,
    "driver_head": _TEXT_OR_NONE,
    "tokens": _TEXT_OR_NONE,
    "final": (bool,),
    "next_timer": (int, type(None)),
    "now": _NUMBER,
    "newest_epoch": (int, type(None)),
    "records": (dict,),
    "operator_records": (dict,),
}


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
