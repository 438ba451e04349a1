"""`penstock inspect`: what is in one checkpoint."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import click

from penstock.cli.checkpoint import Checkpoint
from penstock.cli.program import FAILED
from penstock.cli.wording import moment, size
from penstock.common.errors import PenstockError
from penstock.engine.epochs.manifest import Manifest

_SHOWN_SPLITS = 10


@click.command()
@click.argument("checkpoint")
@click.option("--epoch", type=int, help="Look at this epoch instead of the newest.")
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
def inspect(checkpoint: str, epoch: int | None, as_json: bool) -> None:
    """Show what is in the directory CHECKPOINT: epochs, operators and their state, sources, sinks, the plan.

    Only reads; nothing that is stored there is executed. It may be used on the checkpoint of a running job.
    """
    try:
        report = checkpoint_report(checkpoint, epoch)
    except PenstockError as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)
    click.echo(json.dumps(report, indent=2) if as_json else "\n".join(_text(report)))


def checkpoint_report(location: str, epoch: int | None = None) -> dict[str, Any]:
    """Everything there is to say of a checkpoint, as plain data."""
    checkpoint = Checkpoint(location)
    manifest = checkpoint.manifest(epoch)
    run = checkpoint.run_of(manifest)
    return {
        "directory": checkpoint.storage.location,
        "job": manifest.job_name,
        "state": checkpoint.state_of_job(),
        "bytes": checkpoint.size(),
        "runs": [
            {
                "job_id": each.start.job_id,
                "host": each.start.host,
                "process": each.start.process,
                "started": each.start.started,
                "state": each.state.value,
                "ended": None if each.end is None else each.end.ended,
                "error": None if each.end is None else each.end.error,
            }
            for each in checkpoint.runs
        ],
        "manifests": [_manifest_form(each) for each in checkpoint.manifests()],
        "epoch": _manifest_form(manifest),
        "operators": _operators(checkpoint, manifest, {} if run is None else run.start.plan),
        "sources": {uid: asdict(positions) for uid, positions in checkpoint.sources(manifest).items()},
        "plan": None if run is None else run.start.explained,
    }


def _manifest_form(manifest: Manifest) -> dict[str, Any]:
    return {
        "number": manifest.number,
        "kind": manifest.kind,
        "incarnation": manifest.incarnation,
        "now": manifest.now,
        "records": dict(manifest.records),
        "next_timer": manifest.next_timer,
        "final": manifest.final,
        "driver": manifest.token,
    }


def _operators(checkpoint: Checkpoint, manifest: Manifest, plan: Any) -> list[dict[str, Any]]:
    """Operators in the order of the plan where a run has left it, else by uid."""
    nodes = {node["uid"]: node for node in plan.get("nodes", ())}
    contents = checkpoint.state(manifest)
    published = checkpoint.tokens(manifest)
    known = manifest.operator_uids
    uids = [*(uid for uid in nodes if uid in known), *(uid for uid in known if uid not in nodes)]
    operators: list[dict[str, Any]] = []
    for uid in uids:
        node = nodes.get(uid, {})
        states = [each for each in contents.descriptions if each.uid == uid]
        operators.append(
            {
                "uid": uid,
                "name": node.get("name"),
                "about": manifest.plan[uid],
                "connector": node.get("source") or node.get("sink"),
                "function": node.get("function"),
                "published": published.get(uid),
                "state": [
                    {
                        "name": each.name,
                        "kind": each.kind,
                        "type": each.type,
                        **asdict(contents.size_of(uid, each.name)),
                    }
                    for each in states
                ],
                "timers": asdict(contents.timers_of(uid)),
            }
        )
    return operators


def _text(report: dict[str, Any]) -> list[str]:
    epoch = report["epoch"]
    lines = [
        f"job         {report['job']}",
        f"directory   {report['directory']} ({size(report['bytes'])})",
        f"state       {report['state']}",
        f"epoch       {epoch['number']} ({epoch['kind']}{', final' if epoch['final'] else ''}), "
        f"{moment(epoch['now'])}, {epoch['records'].get('read', 0):,} records read",
        "",
        "runs",
    ]
    for run in report["runs"]:
        ended = "" if run["ended"] is None else f" to {moment(run['ended'])}"
        where = f"{run['host']}, process {run['process']}"
        lines.append(f"  {moment(run['started'])}{ended}  {run['state']}  {where}")
        lines += [f"    {line}" for line in (run["error"] or "").splitlines()[:1]]
    manifests = report["manifests"]
    lines += ["", f"manifests   {manifests[0]['number']} to {manifests[-1]['number']}"]
    for manifest in manifests:
        read = f"{manifest['records'].get('read', 0):,} records"
        lines.append(f"  {manifest['number']:>6}  {manifest['kind']:<8}  {moment(manifest['now'])}  {read}")
    lines += ["", "operators"]
    for operator in report["operators"]:
        lines += _operator_text(operator)
    lines += ["", "sources"]
    for uid, positions in report["sources"].items():
        lines += _source_text(uid, positions)
    return [*lines, "", "plan", *(f"  {line}" for line in (report["plan"] or "not recorded").splitlines())]


def _operator_text(operator: dict[str, Any]) -> list[str]:
    name = "" if operator["name"] is None else f"'{operator['name']}' "
    lines = [f"  {name}uid {operator['uid']}: {operator['about']}"]
    if operator["connector"] is not None:
        published = "" if operator["published"] is None else f", published {operator['published']} in this epoch"
        lines.append(f"    {operator['connector']}{published}")
    for state in operator["state"]:
        lines.append(
            f"    {state['kind']} '{state['name']}' of {state['type']}: {state['entries']:,} entries, "
            f"{size(state['bytes'])}"
        )
    if operator["timers"]["entries"]:
        lines.append(f"    {operator['timers']['entries']:,} timers, {size(operator['timers']['bytes'])}")
    return lines


def _source_text(uid: str, positions: dict[str, Any]) -> list[str]:
    state = sorted(positions["state"].items())
    lines = [f"  uid {uid}{': ended' if positions['ended'] else ''}"]
    lines += [f"    {key}: {json.dumps(value)}" for key, value in state[:_SHOWN_SPLITS]]
    if len(state) > _SHOWN_SPLITS:
        lines.append(f"    and {len(state) - _SHOWN_SPLITS:,} more; --json shows all")
    return lines
