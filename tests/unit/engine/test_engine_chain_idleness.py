"""What operators still have under way leaves them before consumers hear that nothing is to be expected."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import Types
from penstock.connectors.sink import EpochId
from penstock.engine.stages.chain import ChainInstance
from penstock.engine.stages.compiled import compile_plan
from penstock.engine.stages.envelope import Envelope, Kind
from penstock.optimizer.pipeline import optimize
from penstock.plan.builder import PlanBuilder
from penstock.runtime.metrics import MetricGroup
from penstock.state.memory import MemoryStore
from plans.plan_parts import HASH, calling, keyed, mapping, sink, source


@pytest.mark.parametrize("before", [[], [(mapping(2), HASH)]], ids=["at the head", "further down"])
def test_results_of_open_calls_come_before_idleness(before: list[Any]) -> None:
    builder = PlanBuilder()
    last = builder.add_node(source(1))
    for node, exchange in [*before, (calling(3), None), (keyed(4), HASH), (sink(5), None)]:
        following = builder.add_node(node)
        builder.add_edge(last, following, exchange)
        last = following
    job = compile_plan(optimize(builder.build("idle")))
    (chain,) = (
        ChainInstance(
            compiled,
            job_id="job",
            job_name="idle",
            subtask=0,
            run=0,
            store=MemoryStore(),
            storage=None,  # type: ignore[arg-type]
            metrics=MetricGroup(),
        )
        for compiled in job.chains
        if any(node.name == "look up" for node in compiled.nodes)
    )
    rows: list[Envelope] = []
    chain.begin_epoch(EpochId(1, 1), 0, "staging")
    chain.set_writers(0, rows)
    chain.process(Batch(codec_for(Types.STRING()), values=["a", "b"]), chain.chain.inputs[0])
    chain.set_idle(True)
    chain.close()
    assert [row.kind for row in rows] == [Kind.DATA, Kind.IDLE]
