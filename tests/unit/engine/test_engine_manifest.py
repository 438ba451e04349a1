"""Manifests as they are stored and read again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

import pytest

from penstock.common.errors import CheckpointError
from penstock.engine.epochs.manifest import Manifest, manifest_from_bytes

MANIFEST = Manifest(
    number=3,
    kind="epoch",
    job_id="j",
    job_name="job",
    incarnation=1,
    token="t",
    parent="p",
    fingerprint="f",
    plan={},
    records={"read": 7},
    operator_records={"sums": {"in": 7, "out": 2, "num_late_records_dropped": 1}},
)


def stored(fields: dict[str, Any]) -> bytes:
    body = json.dumps(fields).encode()
    return body + b"\n" + hashlib.blake2b(body, digest_size=16).hexdigest().encode() + b"\n"


def test_a_manifest_is_read_as_it_was_written() -> None:
    assert manifest_from_bytes(MANIFEST.to_bytes(), "here") == MANIFEST


def test_a_manifest_from_before_operators_were_counted_is_read() -> None:
    fields = asdict(MANIFEST)
    del fields["operator_records"]
    assert manifest_from_bytes(stored(fields), "here").operator_records == {}


@pytest.mark.parametrize("wrong", [{"sums": 7}, {"sums": {"in": "7"}}, {"sums": None}])
def test_counts_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(CheckpointError, match="here has counts of records that are no numbers"):
        manifest_from_bytes(stored({**asdict(MANIFEST), "operator_records": wrong}), "here")
