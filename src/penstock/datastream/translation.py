"""From the program's operators to a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.common.errors import PlanError
from penstock.datastream.arguments import refuse
from penstock.datastream.transformation import Transformation
from penstock.plan.builder import PlanBuilder
from penstock.plan.nodes import Chaining
from penstock.plan.plan import Plan

DEFAULT_SLOT_SHARING_GROUP = "default"


def make_plan(
    transformations: Iterable[Transformation],
    job_name: str,
    *,
    parallelism: int,
    max_parallelism: int | None,
    chaining: bool = True,
    derive_uids: bool = True,
) -> Plan:
    """The plan of these operators and of everything that feeds them. The settings apply where an operator has none."""
    builder = PlanBuilder()
    ids: dict[Transformation, int] = {}
    groups: dict[Transformation, str] = {}
    for transformation in with_all_inputs(transformations):
        if not derive_uids and transformation.uid is None:
            raise refuse(
                f"'{transformation.name}' has no uid, and pipeline.auto-generate-uids is off: call `uid(...)` on it",
                transformation.call_site,
            )
        groups[transformation] = _slot_sharing_group(transformation, groups)
        of_operator = transformation.max_parallelism or max_parallelism
        limits = {} if of_operator is None else {"max_parallelism": of_operator, "max_parallelism_is_given": True}
        node = transformation.node_class(
            id=0,
            name=transformation.name,
            uid=transformation.uid or "",
            parallelism=1 if transformation.parallelism_is_fixed else transformation.parallelism or parallelism,
            **limits,
            slot_sharing_group=groups[transformation],
            chaining=transformation.chaining if chaining else Chaining.NEVER,
            description=transformation.description,
            output_type=transformation.output_type,
            side_outputs=dict(transformation.side_outputs),
            call_site=transformation.call_site,
            **transformation.arguments,
        )
        ids[transformation] = builder.add_node(node)
        for index, upstreams in enumerate(transformation.inputs):
            for upstream in upstreams:
                builder.add_edge(
                    ids[upstream.transformation],
                    ids[transformation],
                    upstream.exchange,
                    input_index=index,
                    side_output=upstream.side_output,
                )
    return builder.build(job_name)


def with_all_inputs(transformations: Iterable[Transformation]) -> Iterator[Transformation]:
    """The operators and everything that feeds them, inputs before those that read them."""
    seen: set[Transformation] = set()
    entered: set[Transformation] = set()
    # A stack instead of recursion: a program may chain more operators than Python nests calls.
    for transformation in transformations:
        stack = [transformation]
        while stack:
            current = stack[-1]
            if current in seen:
                stack.pop()
                continue
            missing = [
                upstream.transformation
                for upstreams in current.inputs
                for upstream in upstreams
                if upstream.transformation not in seen
            ]
            if missing:
                entered.add(current)
                for feeding in missing:
                    if feeding in entered:
                        raise _cycle(feeding, current)
                stack += reversed(missing)
                continue
            stack.pop()
            seen.add(current)
            yield current


def _cycle(first: Transformation, last: Transformation) -> PlanError:
    return refuse(
        f"the program has a cycle: '{first.name}' reads, at the end, what it makes itself, by way of '{last.name}' "
        f"({last.call_site}). Keep what comes back in state, or write it to a sink and read it again",
        first.call_site,
    )


def _slot_sharing_group(transformation: Transformation, groups: dict[Transformation, str]) -> str:
    if transformation.slot_sharing_group is not None:
        return transformation.slot_sharing_group
    of_inputs = {groups[upstream.transformation] for upstreams in transformation.inputs for upstream in upstreams}
    return of_inputs.pop() if len(of_inputs) == 1 else DEFAULT_SLOT_SHARING_GROUP
