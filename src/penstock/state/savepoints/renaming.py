"""Another uid for an operator, wherever a savepoint names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.state.catalogue import prefix_of
from penstock.state.savepoints.header import OperatorDescription, SavepointHeader, StateTable
from penstock.state.savepoints.subtask_tables import uid_digest


def renamed_header(header: SavepointHeader, old: str, new: str) -> SavepointHeader:
    """The header of a savepoint in which an operator has another uid."""

    def named(uid: str) -> str:
        return new if uid == old else uid

    def by_uid(mapping: Mapping[str, Any]) -> dict[str, Any]:
        return {named(uid): each for uid, each in mapping.items()}

    def operator(each: OperatorDescription) -> OperatorDescription:
        edges = tuple({**edge, "from": named(edge["from"])} for edge in each.edges)
        return replace(each, uid=named(each.uid), chain=named(each.chain), edges=edges)

    def table(each: StateTable) -> StateTable:
        if each.uid != old:
            return each
        prefix = uid_digest(new).hex() + each.prefix[16:] if not each.kind else prefix_of(new, each.name).hex()
        return replace(each, uid=new, prefix=prefix)

    event_time = {
        uid: {**told, "channels": [{**channel, "from": named(channel["from"])} for channel in told["channels"]]}
        for uid, told in by_uid(header.event_time).items()
    }
    digests = uid_digest(old).hex(), uid_digest(new).hex()
    return replace(
        header,
        operators=tuple(map(operator, header.operators)),
        operator_records=by_uid(header.operator_records),
        sources=by_uid(header.sources),
        event_time=event_time,
        generators=by_uid(header.generators),
        states=tuple(map(table, header.states)),
        timers=tuple(replace(each, uid=named(each.uid)) for each in header.timers),
        union_lists={
            digests[1] + key[16:] if key[:16] == digests[0] else key: lists for key, lists in header.union_lists.items()
        },
    )
