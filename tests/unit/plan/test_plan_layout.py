from __future__ import annotations

import dataclasses

import pytest

from penstock.common.errors import PlanError
from penstock.plan.layout import Chain, Layout
from penstock.plan.nodes import Edge
from penstock.plan.plan import Plan
from plans.plan_parts import HASH, keyed, mapping, plan, sink, source


def laid_out(*chains: Chain) -> Plan:
    """Source 1 -> map 2 by forward, keyed 3 by hash, sink 4 by forward."""
    parts = (source(1), mapping(2), keyed(3, parallelism=2), sink(4, parallelism=2))
    unplaced = plan(*parts, Edge(1, 2), Edge(2, 3, HASH), Edge(3, 4))
    return dataclasses.replace(unplaced, layout=Layout(chains))


def test_stages_chains_and_exchanges_of_a_layout() -> None:
    built = laid_out(Chain(0, (1, 2), 0), Chain(1, (3, 4), 1))
    assert [(stage.level, stage.parallelism) for stage in built.stages] == [(0, 1), (1, 2)]
    assert built.stages[1].chains == (Chain(1, (3, 4), 1),)
    assert built.chain_of(2).head == 1
    assert [(edge.source, edge.target) for edge in built.exchanges] == [(2, 3)]
    assert built.is_chained(built.inputs(2)[0])


WRONG = {
    "node in no chain": ((Chain(0, (1, 2), 0), Chain(1, (3,), 1)), "Sink 'out' .* is in no chain"),
    "node in two chains": (
        (Chain(0, (1, 2), 0), Chain(1, (3, 4), 1), Chain(2, (4,), 2)),
        "Sink 'out' .* is in two chains",
    ),
    "chain id twice": ((Chain(0, (1, 2), 0), Chain(0, (3, 4), 1)), "two chains have the same id"),
    "exchange inside a chain": (
        (Chain(0, (1, 2, 3, 4), 0),),
        "KeyedProcess 'count' .* cannot be in a chain behind another operator",
    ),
    "chain in the wrong order": (
        (Chain(0, (2, 1), 0), Chain(1, (3, 4), 1)),
        "Source 'words' .* cannot be in",
    ),
    "level not above the input's": (
        (Chain(0, (1,), 0), Chain(1, (2,), 2), Chain(2, (3, 4), 1)),
        "KeyedProcess 'count' .* runs in stage 1, not after stage 2 of Map 'upper'",
    ),
    "gap between levels": ((Chain(0, (1, 2), 0), Chain(1, (3, 4), 2)), r"without a gap; they are \[0, 2\]"),
    "source after stage 0": (
        (Chain(0, (1,), 1), Chain(1, (2,), 0), Chain(2, (3, 4), 2)),
        "Source 'words' .*: stage 0 runs the chains of sources, and nothing else",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_layout_is_an_error(case: str) -> None:
    chains, message = WRONG[case]
    with pytest.raises(PlanError, match=message):
        laid_out(*chains)


def test_stages_of_a_plan_without_layout_or_levels_say_what_is_missing() -> None:
    with pytest.raises(PlanError, match="no layout yet: run the optimizer first"):
        _ = plan(source(1), sink(2), Edge(1, 2)).stages
    with pytest.raises(PlanError, match="no levels yet"):
        _ = laid_out(Chain(0, (1, 2)), Chain(1, (3, 4))).stages
