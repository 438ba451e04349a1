"""What has to be known of a plan to take its state apart and to fit it to another one."""

from __future__ import annotations

import json
from dataclasses import asdict

from penstock.common.errors import CheckpointError, StateCorruptionError
from penstock.engine.epochs.manifest import Manifest
from penstock.engine.stages.compiled import CompiledChain, CompiledJob
from penstock.plan.nodes import ExchangeKind, SinkNode, SourceNode
from penstock.state.key_types import encoding_name
from penstock.state.savepoints.header import OperatorDescription, operators_from_json
from penstock.state.storage import CheckpointStorage

PLANS = "plans"


def describe_plan(job: CompiledJob) -> tuple[OperatorDescription, ...]:
    """The operators of a job, chain by chain."""
    found: list[OperatorDescription] = []
    uids = {node.id: node.uid for chain in job.chains for node in chain.nodes}
    for chain in job.chains:
        for node in chain.nodes:
            edges = [
                {
                    "number": edge.number,
                    "from": uids[edge.source],
                    "input": edge.input_index,
                    "side_output": edge.side_output,
                }
                for edge in chain.inputs
                if node is chain.head
            ]
            links = [
                {"number": None, "from": uids[link.source], "input": 0, "side_output": link.side_output}
                for link in chain.links
                if link.target == node.id
            ]
            found.append(
                OperatorDescription(
                    uid=node.uid,
                    name=node.name,
                    kind=node.kind,
                    parallelism=node.parallelism,
                    max_parallelism=node.max_parallelism,
                    uid_is_given=node.uid_is_given,
                    source=node.source.position_kind if isinstance(node, SourceNode) else "",
                    sink=node.sink.output_kind if isinstance(node, SinkNode) else "",
                    key=_key_of(chain) if node is chain.head else "",
                    chain=chain.head.uid,
                    level=chain.level,
                    edges=(*edges, *links),
                )
            )
    return tuple(found)


def _key_of(chain: CompiledChain) -> str:
    keyed = [edge.exchange for edge in chain.inputs if edge.exchange.kind is ExchangeKind.HASH]
    return next(filter(None, [encoding_name(exchange.key_type) for exchange in keyed]), "")


def keys_differ(old: OperatorDescription, new: OperatorDescription) -> bool:
    """Whether an operator does not find what it had stored for its keys: they are of another type."""
    return "" not in (old.key, new.key) and old.key != new.key


def store_plan(storage: CheckpointStorage, job: CompiledJob) -> str:
    """Writes the description; returns its path, which manifests name."""
    form = [asdict(operator) for operator in describe_plan(job)]
    return storage.write_staged(f"{PLANS}/plan", json.dumps(form, sort_keys=True).encode())


def read_plan(storage: CheckpointStorage, manifest: Manifest) -> tuple[OperatorDescription, ...]:
    """The description of the plan that a manifest is of."""
    if manifest.plan_path is None:
        raise CheckpointError(
            f"the checkpoint in {storage.location} does not say enough of its plan to take its state apart: it was "
            "written by an older Penstock. Start its own program once more, and stop it."
        )
    where = f"the plan {manifest.plan_path} in {storage.location}"
    try:
        form = json.loads(storage.read_verified(manifest.plan_path))
    except (ValueError, RecursionError) as error:
        raise StateCorruptionError(f"{where} is no JSON: {error}") from None
    return operators_from_json(form, where)
