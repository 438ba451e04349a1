"""From the watermarks of splits and channels to that of an operator."""

from __future__ import annotations

import pytest

from penstock.engine.stages.chain_inputs import ChainInputs
from penstock.engine.stages.compiled import CompiledChain, CompiledEdge
from penstock.engine.stages.envelope import SOURCE_SENDER
from penstock.plan.nodes import FORWARD, CoProcessNode, Node
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK
from penstock.state.memory import MemoryStore

HEAD: Node = CoProcessNode(id=9, name="Join", uid="join", function=None, keyed=True)


def edge(number: int, *, level: int = 0, input_index: int = 0, senders: int = 2) -> CompiledEdge:
    return CompiledEdge(
        number=number,
        source=number,
        target=HEAD.id,
        target_name=HEAD.name,
        exchange=FORWARD,
        input_index=input_index,
        side_output=None,
        record_type=None,
        source_level=level,
        target_level=1,
        source_parallelism=senders,
        target_parallelism=1,
        target_max_parallelism=128,
    )


@pytest.fixture(params=[False, True], ids=["kept", "restored"])
def inputs_of(request: pytest.FixtureRequest):
    """Makes inputs; in one of the runs they are saved and restored before every step."""

    class Restoring:
        def __init__(self, *edges: CompiledEdge) -> None:
            self._chain = CompiledChain(0, 1, (HEAD,), (), edges, ())
            self._store = MemoryStore()
            self._inputs = ChainInputs(self._chain)

        def __getattr__(self, name: str):
            if request.param:
                self._inputs.save(self._store)
                self._inputs = ChainInputs(self._chain)
                self._inputs.load(self._store)
            return getattr(self._inputs, name)

    return Restoring


def test_all_splits_of_an_epoch_count_before_any_of_them_is_worked_on(inputs_of) -> None:
    inputs = inputs_of(edge(0))
    inputs.announce([(0, 1), (0, 2), (0, SOURCE_SENDER - 3)])
    assert inputs.watermark(0, 1, 50) is None
    assert inputs.end(0, 1) is None
    assert inputs.watermark(0, 2, 30) == 30
    assert inputs.end(0, 2) is None
    assert inputs.current_watermark == 30


def test_a_source_whose_splits_have_all_ended_holds_the_others(inputs_of) -> None:
    """More splits may come; in Flink too a source without splits is not idle."""
    inputs = inputs_of(edge(0), edge(1))
    inputs.announce([(0, 1), (1, 2)])
    inputs.watermark(0, 1, 50)
    assert inputs.watermark(1, 2, 80) == 50
    assert inputs.end(0, 1) is None
    assert inputs.watermark(1, 2, 90) is None
    assert inputs.idle(0, SOURCE_SENDER) == 90, "unless it is said to be idle"
    inputs.announce([(0, 3)])
    assert inputs.watermark(1, 2, 95) == 95
    assert inputs.watermark(0, 3, 60) is None
    assert inputs.watermark(1, 2, 99) == 99, "it counts again when it has caught up"


def test_a_source_that_has_sent_nothing_holds_the_others(inputs_of) -> None:
    inputs = inputs_of(edge(0), edge(1))
    assert inputs.watermark(1, 2, 80) is None
    assert inputs.end(0, SOURCE_SENDER) == 80


def test_idle_splits_are_left_out_and_together_make_the_source_idle(inputs_of) -> None:
    inputs = inputs_of(edge(0), edge(1))
    inputs.announce([(0, 1), (0, 2), (1, 3)])
    inputs.watermark(0, 1, 50)
    inputs.watermark(1, 3, 80)
    assert inputs.idle(0, 2) == 50
    assert not inputs.is_idle
    assert inputs.idle(0, 1) == 80
    assert inputs.idle(1, 3) is None
    assert inputs.is_idle
    assert inputs.watermark(1, 3, 81) == 81
    assert not inputs.is_idle


def test_a_split_that_is_back_holds_its_source(inputs_of) -> None:
    inputs = inputs_of(edge(0))
    inputs.announce([(0, 1), (0, 2)])
    inputs.watermark(0, 1, 50)
    assert inputs.idle(0, 2) == 50
    assert inputs.watermark(0, 2, 20) is None
    assert inputs.watermark(0, 1, 70) is None
    assert inputs.watermark(0, 2, 60) == 60


def test_a_channel_that_is_back_does_not_hold_the_others_until_it_has_caught_up(inputs_of) -> None:
    inputs = inputs_of(edge(0, level=1))
    inputs.watermark(0, 0, 50)
    assert inputs.idle(0, 1) == 50
    assert inputs.watermark(0, 1, 20) is None
    assert inputs.watermark(0, 0, 70) == 70


def test_an_input_that_is_back_holds_the_other(inputs_of) -> None:
    """As in Flink: the two inputs of an operator are combined in another way than the channels of one."""
    inputs = inputs_of(edge(0, level=1, senders=1), edge(1, level=1, input_index=1, senders=1))
    inputs.watermark(0, 0, 50)
    assert inputs.idle(1, 0) == 50
    assert inputs.watermark(1, 0, 20) is None
    assert inputs.watermark(0, 0, 70) is None
    assert inputs.watermark(1, 0, 60) == 60


def test_the_end(inputs_of) -> None:
    inputs = inputs_of(edge(0), edge(1, level=1, input_index=1, senders=1))
    inputs.announce([(0, 1)])
    assert inputs.current_watermark == MIN_WATERMARK
    assert inputs.end(0, 1) is None
    assert inputs.end(0, SOURCE_SENDER) is None
    assert not inputs.just_finished()
    assert inputs.end(1, 0) == MAX_WATERMARK
    assert inputs.just_finished()
    assert not inputs.just_finished()


def test_after_a_start_nothing_is_idle_until_it_is_said_to_be_so_again(inputs_of) -> None:
    inputs = inputs_of(edge(0), edge(1, input_index=1))
    inputs.announce([(0, 1), (1, 2)])
    inputs.watermark(0, 1, 10)
    inputs.watermark(1, 2, 50)
    assert inputs.idle(0, 1) == 50
    inputs.start_anew()
    assert not inputs.is_idle
    assert inputs.watermark(1, 2, 90) is None
    assert inputs.watermark(0, 1, 60) == 60
    assert inputs.idle(0, 1) == 90
